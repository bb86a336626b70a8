-- Limits that changed: a key whose limits are not exactly those of the call, in their order.
if part == 'O' and not F.O then
use('N')
use('Q')
local O
O = {
-- Reads a value whose limits are not exactly the call's limits in their order.
load_other = function(k, value, limits)
  local list, born, i = string.match(value, '^1([^|]*)|(%d+)()')
  if not list or #born > 16 then
    F.bad('a value ' .. (string.match(value, '^[02-9]') and 'of another version' or 'that is not weir\'s'))
  end
  k.born, k.birth, k.parts = born + 0, born, {}
  if k.born >= 9007199254740992 then F.bad('a birth out of bounds') end
  local at, seen = 1, {}
  while at <= #list do
    local spec, left, ends = string.match(list, '^([^;=]+)=[%d.]+(~?%d*)()', at)
    if not spec or seen[spec] or #left > 17 or (ends <= #list and string.byte(list, ends) ~= 59) then F.bad('a limit without its numbers') end
    local l
    local numbers = ends - #left
    left = tonumber(string.sub(left, 2))
    for _, own in ipairs(limits) do
      if own.spec == spec then l = own end
    end
    if not l or left and left <= now then l = F.N.rule(spec) end
    if F.load_part(l, list, at) ~= numbers then F.bad('a limit without its numbers') end
    if l.kind == 'g' then l.a = l.a + k.born end
    l.left = left
    k.parts[#k.parts + 1] = l
    if #k.parts > 64 then F.bad('too many limits') end
    seen[spec], at = true, ends + 1
  end
  F.load_rest(k, value, i)
  local left = {}
  for _, l in ipairs(k.parts) do
    if not l.left or l.left > now or k.past then left[#left + 1] = l end
  end
  if #left < #k.parts then
    k.parts = left
    k.value = F.save(k) -- A booking that is undone leaves this.
  end
end,

-- Sets the parts of a key: the limits of the call, and the other ones it has.
open = function(k, limits)
  use('N')
  use('S').step_back(k)
  k.v = k.clock and F.C.now(k.clock, now) or now
  if k.shifted then k.value = F.save(k) end -- A booking that is undone leaves this.
  local g, logged = k.log, false
  for _, l in ipairs(g and k.parts or {}) do
    if l.kind == 'w' then
      logged = true
      l.a, l.b = F.G.expired(g, l, k.v)
    end
  end
  if g and not logged then F.G.clear(g) end
  k.had = #k.parts
  if k.parts == limits then return end
  for _, l in ipairs(limits) do l.known = false end
  for _, l in ipairs(k.parts) do l.known = true end
  local new, most, at = {}, 0, 0
  for _, l in ipairs(limits) do
    if not l.known then
      local units, v = O.adopt(k, l)
      if units and units > most then most, at = units, v end
      l.new, l.known = true, true
      new[#new + 1] = l
    end
  end
  if most > 0 then F.G.push(k.log, at, most) end
  for _, l in ipairs(new) do
    k.parts[#k.parts + 1] = l
    if l.kind == 'w' then l.a, l.b = F.G.expired(k.log, l, k.v) end
  end
end,

-- The used units of a limit at an instant: by the server's time for a window with a
-- beginning, by the key's time for a bucket. Sliding windows have their log instead.
used = function(l, at)
  local units = at < l.a + l.p and l.b or 0
  if l.kind == 'g' then
    local ahead = l.a + (l.b > 0 and 1 or 0) - at
    units = ahead > l.cw and l.max or ahead > 0 and F.N.muldiv_up(ahead, l.q, l.num) or 0
  elseif l.b == 0 and at < l.a then
    units = l.max
  elseif l.kind == 'c' then
    local start, cur, prev = F.W.counter_roll(l, at)
    units = cur + F.N.muldiv_up(prev, l.p - math.max(at - start, 0), l.p)
  end
  return math.min(units, l.max)
end,

-- Adds a limit that the key does not know. It replaces, of the limits that this call leaves
-- out, the one with the nearest period, and begins with the used share of that limit. A limit
-- is replaced once. A fixed window in place of one of its length ends with that. Returns used
-- units that need an entry in the log, and its slot.
adopt = function(k, l)
  local v = math.max(k.v, k.queue and k.queue.last or 0)
  local at = k.clock and math.max(now, F.C.real(k.clock, v)) or v
  local rule, n, d, best = F.N.rule(l.spec), 0, 1, nil
  local p = rule.p
  for _, o in ipairs(k.parts) do
    if not o.cost and not o.taken and (not best
      or F.N.product_less(math.max(p, o.p), math.min(p, best.p), math.min(p, o.p), math.max(p, best.p))) then
      best = o
    end
  end
  if best then
    best.taken, d = true, best.max
    if best.kind == 'w' then
      local _, before = F.G.expired(k.log, best, v)
      n = math.min((k.log.sum - before) % 4503599627370496, best.max)
    else
      n = O.used(best, best.kind == 'g' and v or at)
    end
  end
  l.a, l.b, l.c, l.opened, l.before, l.left, l.grades = 0, 0, 0, 0, 0, nil, ''
  if l.ra then l.ra, l.rb, l.rc = 0, 0, 0 end
  local units = n > 0 and F.N.muldiv_up(n, rule.max, d) or 0
  if l.kind == 'g' then
    l.a = v
    if units > 0 then F.gcra_book(l, v, F.N.span(rule, units)) end
  elseif l.kind == 'w' then
    use('G')
    local g = k.log or F.G.new(k)
    k.log, l.a = g, g.n
    for _, o in ipairs(k.parts) do
      if o.kind == 'w' and o.a < l.a then l.a = o.a end
    end
    l.b = F.G.sum(g, l.a)
    if l.a == g.n then return units, v end
  else
    if best and l.kind == 'f' and best.kind == 'f' and best.p == p then at = math.min(at, best.a) end
    l.a, l.b = l.kind == 'f' and at or at - at % p, units
  end
end,

-- Drops limits that the call leaves out, if they have lapsed or are too many. The first parts
-- go first. It resets the time of the limits that the call names.
forget = function(k)
  local left, over = {}, -8
  for _, l in ipairs(k.parts) do
    if not l.cost then
      over = over + 1
      if not l.left then
        local at = F.lapse(l, k.log and k.log.newest or 0)
        if k.clock and (l.kind == 'g' or l.kind == 'w') then at = F.C.real(k.clock, at) end
        l.left = at
      end
    else
      l.left = nil
    end
  end
  for _, l in ipairs(k.parts) do
    if l.cost or (l.left > now and over <= 0) then left[#left + 1] = l end
    if not l.cost then over = over - 1 end
  end
  k.parts = left
end,

-- After a refusal, a known key keeps new limits with their used share, so that they recover
-- at their own rate, as do left out limits that the call names again. Reports whether the key
-- has changed.
refuse = function(k)
  local kept, again, q = false, false, k.queue
  if k.had == 0 then return false end
  for _, l in ipairs(k.parts) do
    if l.new then
      if q and q.tag > 0 and not kept then q.seq = q.seq + 1 end
      if q and q.tag > 0 then F.Q.begin(l, q.seq) end
      kept, l.new = true, nil
    end
    again = again or l.cost and l.left
  end
  if kept or again then O.forget(k) end
  return kept or again
end,

-- Caps the numbers of a limit when settled costs exceed its capacity.
bound = function(k, l)
  local most = k.v + (l.cw or 0) + 394200000000000
  if l.kind ~= 'g' then
    l.b = math.min(l.b, 2251799813685248)
  elseif l.a > most then
    l.a, l.b = most, 0
  end
end,
}
F.O = O
end
