-- Calls of a key, and the answer to them.
if part == 'K' and not F.tell then
F.new = function()
  return {
    state = 0, list = false, limits = false, parts = false, born = 0, birth = false, v = 0, value = false, queue = false, clock = false, log = false,
    floor = 0, slot = 0, real = false, latest = 0, natural = false, writes = false,
  }
end

-- Appends the answer of a key to the n numbers of a reply.
F.tell = function(reply, n, k, taken, plain)
  if k.undecided then
    reply[n + 1] = k.undecided
    return n + 1
  end
  local limits, none = k.limits, not k.real and now
  if #k.parts > #limits then taken = taken + 1048576 end
  if plain and not k.queue and not k.clock then
    reply[n + 1], reply[n + 2] = taken, 0
    n = n + 2
  else
    plain = false
    reply[n + 1], reply[n + 2] = taken, k.clock and F.C.save(k.clock) or k.queue and 2 or 1
    reply[n + 3], reply[n + 4] = none or k.latest, none or k.slot
    n = n + 4
  end
  for i = 1, #limits do
    local l = limits[i]
    local kind = l.kind
    if kind == 'w' then
      reply[n + 1], reply[n + 2] = F.G.live(k.log, l, k.v), k.log.newest
    else
      reply[n + 1], reply[n + 2] = l.a, l.b
      if kind == 'c' then
        n = n + 1
        reply[n + 2] = l.c
      end
    end
    n = n + 2
    if not plain or kind == 'w' then
      n = n + 1
      reply[n] = none or l.slot
    end
  end
  return n
end

-- Decides calls of a key in order, and returns the place of the end of their answer.
F.decide = function(k, left, seen, reply, n)
  local taken, limits = 0, k.limits
  k.queue, k.clock, k.log, k.birth = false, false, false, false
  if k.undecided or k.shifted or k.restored then k.undecided, k.shifted, k.restored = nil end
  F.load(k, seen)
  while not k.undecided and left > 0 and F.find(k, 1) <= now do
    local fit = left > 1 and use('N').fit(k, left) or 1
    F.book(k, fit, 0)
    taken, left = taken + fit, left - fit
  end
  n = F.tell(reply, n, k, taken, true)
  if taken > 0 or not k.undecided and (k.shifted or k.parts ~= limits and F.O.refuse(k)) then F.write(k) end
  return n
end
end
