-- Calls of one key that are decided together.
if part == 'K' and not F.decide then
-- How many of n calls fit now, given that one does. The result may be smaller for large
-- numbers.
local function fit(k, n)
  use('N')
  for i = 1, #k.limits do
    local l = k.limits[i]
    if l.max and l.cost > 0 and l.cost * (n - 1) + l.need > l.max then n = math.floor((l.max - l.need) / l.cost) + 1 end
    if l.q and l.q * n >= 9007199254740992 then n = 1 end
  end
  if n < 2 or F.find(k, n) <= now then return n end
  local low = 1
  while n - low > 1 do
    local middle = math.floor((low + n) / 2)
    if F.find(k, middle) <= now then low = middle else n = middle end
  end
  F.find(k, low)
  return low
end

-- Decides calls of a key in order, and returns the place of the end of their answer.
F.decide = function(k, calls, seen, reply, n)
  local left, tag = string.match(calls, '^(%d+) ?(%d*)$')
  local taken, limits, floor, slot, entry = 0, k.limits, nil, nil, nil
  left, tag = left + 0, tag == '' and 0 or tag + 0
  k.queue, k.clock, k.log, k.birth = false, false, false, false
  if k.undecided or k.shifted or k.restored then k.undecided, k.shifted, k.restored = nil end
  F.load(k, seen)
  while not k.undecided and left > 0 and F.find(k, 1) <= now do
    local fits = left > 1 and fit(k, left) or 1
    floor, slot, entry = floor or k.floor, slot or k.slot, entry or k.log and k.log.n or -1
    F.book(k, fits, tag)
    taken, left = taken + fits, left - fits
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
