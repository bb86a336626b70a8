-- A key in a call, and the answer about it.
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
  local c = k.clock and F.C.save(k.clock) or k.queue and 2 or 1
  plain = plain and c == 1
  reply[n + 1], reply[n + 2] = taken, plain and 0 or c
  n = n + 2
  if not plain then
    reply[n + 1], reply[n + 2] = none or k.latest, none or k.slot
    n = n + 2
  end
  for _, l in ipairs(limits) do
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

-- Appends the receipt of bookings of a key: was is its value before them, if that is known.
F.receipt = function(reply, n, k, entry, floor, was)
  local q = k.queue or {}
  for i, x in ipairs({ q.tag or 0, q.seq or 0, entry, floor, was or '' }) do reply[n + i] = x end
  return n + 5
end
end
