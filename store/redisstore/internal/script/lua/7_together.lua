-- Calls of one key that are decided together.
if part == 'K' and not F.decide then
-- Decides calls of a key in order, and returns the place of the end of their answer.
F.decide = function(k, calls, seen, reply, n)
  local left, tag = string.match(calls, '^(%d+) ?(%d*)$')
  local taken, limits, floor, slot, entry = 0, k.limits, nil, nil, nil
  left, tag = left + 0, tag == '' and 0 or tag + 0
  k.queue, k.clock, k.log, k.birth = false, false, false, false
  if k.undecided or k.shifted or k.restored then k.undecided, k.shifted, k.restored = nil end
  F.load(k, seen)
  while not k.undecided and left > 0 and F.find(k, 1) <= now do
    local fit = left > 1 and use('N').fit(k, left) or 1
    floor, slot, entry = floor or k.floor, slot or k.slot, entry or k.log and k.log.n or -1
    F.book(k, fit, tag)
    taken, left = taken + fit, left - fit
  end
  n = F.tell(reply, n, k, taken, true)
  if tag > 0 and taken > 0 then
    n = F.receipt(reply, n, k, entry, floor, taken > 1 and '?' or k.value)
    reply[n + 1], n = slot, n + 1
  end
  if taken > 0 or not k.undecided and (k.shifted or k.parts ~= limits and F.O.refuse(k)) then F.write(k) end
  return n
end
end
