-- The state of one key: what package exact's Key does.

-- A state that is further ahead than bookings can make it means that the server's clock
-- stepped back. The key's time goes on from where it was: no call waits for the clock.
local function step_back(k)
  local now, v, q, back = k.now, clock_now(k.clock, k.now), k.queue, nil
  if q then
    back = q.at - now
  else
    for i = 1, #k.parts do
      local l, n = k.parts[i], 0
      if l.kind == 'g' then n = l.a - l.cw - 1 - v
      elseif l.kind == 'w' then n = k.log and k.log.newest - v or 0
      elseif l.b > 0 then n = l.a - now end
      back = back and min(back, n) or n
    end
  end
  back = max(back or 0, k.born - now, k.clock and k.clock.at - now or 0)
  if back <= 0 then return end
  k.clock = { at = now, v = clock_now(k.clock, now + back), pause = 0, stand = 0, unit = 1, gap = 0, ends = 0, share = 0, since = 0, step = 0, next = 0 }
  for i = 1, #k.parts do
    local l = k.parts[i]
    if l.kind == 'f' then l.a = max(l.a - back, 0)
    elseif l.kind == 'a' or l.kind == 'c' then l.a = min(l.a, align(now, l.p)) end
  end
  if q then q.at = now end
  k.shifted = true
end

-- Adds a limit that the key does not know. It takes the place of the limits that this
-- call leaves out, and begins with the largest share of them that is used.
local function adopt(k, l)
  local v = max(k.v, k.queue and k.queue.last or 0)
  local at = max(k.now, clock_real(k.clock, v))
  local n, d = 0, 1
  for _, o in ipairs(k.parts) do
    if not o.named then
      local units
      if o.kind == 'w' then
        local _, before = log_expired(k.log, o, v)
        units = min((k.log.sum - before) % WRAP, o.max)
      else
        units = used(o, o.kind == 'g' and v or at)
      end
      if product_less(n, o.max, units, d) then n, d = units, o.max end
    end
  end
  l.a, l.b, l.c, l.opened, l.before, l.grades = 0, 0, 0, 0, 0, nil
  local units = n > 0 and muldiv_up(n, l.max, d) or 0
  if l.kind == 'g' then
    l.a = v
    if units > 0 then gcra_book(l, v, span(l, units)) end
  elseif l.kind == 'w' then
    local g = k.log or log_new(k, k.list)
    k.log, l.a, l.b = g, g.first, g.gone
    local begun = (g.sum - (g.begun or g.sum)) % WRAP
    if (g.n == g.first or g.begun) and units > begun then
      if g.begun then g.n, g.sum = g.n - 1, g.begun end
      g.begun = g.sum
      log_push(g, v, units)
    end
  else
    l.a = l.kind == 'f' and at or align(at, l.p)
    if units > 0 then
      if l.kind == 'c' then counter_book(l, at, units) else window_book(l, at, units) end
    end
  end
end

-- Makes the parts of a key those of the call, and what others there are.
local function open(k, limits)
  k.limits = limits
  for i = 1, #limits do limits[i].known = k.parts == limits end
  if k.parts ~= limits then
    for _, l in ipairs(k.parts) do l.known = true end
  end
  if not k.fresh then step_back(k) end
  k.v = clock_now(k.clock, k.now)
  if k.parts ~= limits then
    local new = {}
    for _, l in ipairs(limits) do
      if not l.known then
        adopt(k, l)
        new[#new + 1] = l
      end
    end
    for _, l in ipairs(new) do k.parts[#k.parts + 1] = l end
  end
  local g = k.log
  if g then
    for _, l in ipairs(k.parts) do
      if l.kind == 'w' then log_expire(g, l, k.v) end
    end
  end
end

-- The time of n calls under a bucket, of which the last needs as much as it has to
-- leave.
local function need(l, n)
  if n == 1 then return l.nw, l.nr end
  local r = l.ir * (n - 1) + l.nr
  local rest = fmod(r, l.q)
  return l.iw * (n - 1) + l.nw + (r - rest) / l.q, rest
end

-- Finds the earliest slot at which all limits admit n calls.
local function find(k, n)
  local now, c, limits = k.now, k.clock, k.limits
  local b = k.v
  if k.queue and k.queue.last > b then b = k.queue.last end
  if c then b = clock_floor(c, b, now) end
  local f, s = b, b
  for i = 1, #limits do
    local l = limits[i]
    local x, y = b, b
    if l.units_each > 0 then
      if l.kind == 'g' then
        x, y = gcra_slot(l, b, need(l, n))
      elseif l.kind == 'w' then
        y = log_slot(k.log, l, b, l.units_each * (n - 1) + l.need)
        x = y
      end
      if x > f then f = x end
      if y > s then s = y end
    end
    l.slot = y
  end
  local standing = clock_standing(c, s, now)
  local real, from = s, b
  if c then real, from = max(clock_real(standing, s), now), max(clock_real(standing, b), now) end
  local latest = real
  for i = 1, #limits do
    local l = limits[i]
    if l.units_each == 0 then
      l.slot = now
    elseif l.kind == 'g' or l.kind == 'w' then
      if c then l.slot = max(clock_real(standing, l.slot), now) end
    else
      local units = l.units_each * (n - 1) + l.need
      if l.kind == 'c' then l.slot = counter_slot(l, from, units) else l.slot = window_slot(l, from, units) end
      if l.slot > latest then latest = l.slot end
    end
  end
  k.floor, k.slot, k.real, k.standing = f, s, real, standing
  return latest
end

-- Moves the slot to a later time of the server.
local function later(k, at)
  if at > k.real then
    k.real = at
    k.slot = max(k.slot, clock_now(k.standing, at))
    k.floor = max(k.floor, k.slot)
  end
end

local function grade_add(list, e)
  local n = #list
  while n > 0 and (list[n][2] > e[2] or (list[n][2] == e[2] and list[n][3] >= e[3])) do
    list[n], n = nil, n - 1
  end
  list[n + 1] = e
end

-- Notes the backlog that a booking found: no booking before it can give back more.
local function grade_book(l, seq, slot)
  local w, r = l.a - slot, l.b
  if w < 0 then w, r = 0, 0 end
  local list = l.grades or {}
  l.grades = list
  grade_add(list, { seq, w, r })
  if #list > 8 then
    local least = 1
    for i = 2, #list - 1 do
      if list[i + 1][2] - list[i][2] < list[least + 1][2] - list[least][2] then least = i end
    end
    list[least + 1][2], list[least + 1][3] = list[least][2], list[least][3]
    table.remove(list, least)
  end
end

-- Takes the units of n calls at the slot that was found. Every limit of the key counts
-- them, also one that the call does not name. A tag asks for a receipt.
local function book(k, n, tag)
  local limits, parts, most, logged = k.limits, k.parts, 0, false
  for i = 1, #limits do most = max(most, limits[i].units_each * n) end
  local q, ahead = k.queue, k.slot > k.v
  if ahead or tag > 0 or q then
    q = q or { last = 0, first = 0, cost = 0, tag = 0, seq = 0 }
    k.queue, q.at = q, k.now
    if tag > 0 and q.tag == 0 then q.tag = tag end
    if q.tag > 0 then q.seq = q.seq + n end
    if ahead then
      local l = parts[1]
      if q.last <= k.v then q.first, q.cost = k.slot, most elseif q.cost ~= most then q.cost = 0 end
      if parts[2] or l.kind ~= 'g' or k.floor >= l.a or (k.clock and k.clock.next >= k.slot) then q.cost = 0 end
      if q.first > k.v then q.first = min(q.first, k.slot) end
      q.last = k.floor
    end
  end
  local tagged = q and q.tag > 0
  for i = 1, #parts do
    local l = parts[i]
    local units = most
    if l.named then units = l.units_each * n end
    if l.kind == 'w' then
      logged = true
    elseif units > 0 and l.kind == 'g' then
      if tagged then grade_book(l, q.seq, k.slot) end
      if not l.named then
        gcra_book(l, k.floor, span(l, units))
      elseif n == 1 then
        gcra_book(l, k.floor, l.iw, l.ir)
      else
        gcra_book(l, k.floor, l.iw * n, l.ir * n)
      end
    elseif units > 0 then
      local a, b = l.a, l.b
      if l.kind == 'c' then counter_book(l, k.real, units) else window_book(l, k.real, units) end
      if tagged and (l.a ~= a or b == 0) then
        if l.a == a then l.opened = q.seq
        elseif l.a == a + l.p then l.opened, l.before = q.seq, l.opened
        else l.opened, l.before = q.seq, q.seq end
        if l.kind ~= 'c' then l.before = 0 end
      end
    end
  end
  if logged and most > 0 then log_push(k.log, k.slot, most) end
  if k.clock then
    k.clock = k.standing
    clock_book(k.clock, k.slot, most, k.now)
  end
  if #parts > #limits then
    local left = {}
    for _, l in ipairs(parts) do
      local at = lapse(l, k.log and k.log.newest or 0)
      if l.kind == 'g' or l.kind == 'w' then at = clock_real(k.clock, at) end
      if l.named or at > k.now then left[#left + 1] = l end
    end
    k.parts = left
  end
end
