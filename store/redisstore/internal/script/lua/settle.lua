-- Corrects bookings to other costs; to 0 it cancels them. request.go says what is in
-- KEYS and ARGV.
local now, longer = clock()
local a = 1
local function number() a = a + 1 return ARGV[a] + 0 end
local function text() a = a + 1 return ARGV[a] end

-- A bucket that was full since has forgotten the booking.
local function settle_bucket(l, b, v)
  if (l.b > 0 and l.a + 1 or l.a) <= v then return false end
  if b.alone then
    l.a, l.b, l.grades = b.a, b.b, b.grades
    if b.to > 0 then
      grade_book(l, b.seq, b.slot)
      gcra_book(l, b.floor, span(l, b.to))
    end
  elseif b.to < b.cost then
    local w, r = span(l, b.cost - b.to)
    local first, list = 1, l.grades or {}
    while list[first] and list[first][1] <= b.seq do first = first + 1 end
    local e = list[first]
    if e and (e[2] < w or (e[2] == w and e[3] < r)) then w, r = e[2], e[3] end
    local later = {}
    for i = first, #list do later[#later + 1], list[i] = list[i], nil end
    for _, g in ipairs(later) do
      g[2], g[3] = g[2] - w, g[3] - r
      if g[3] < 0 then g[2], g[3] = g[2] - 1, g[3] + l.q end
      grade_add(list, g)
    end
    if w == 0 and r == 0 then return false end
    l.a, l.b = l.a - w, l.b - r
    if l.b < 0 then l.a, l.b = l.a - 1, l.b + l.q end
  else
    for _, g in ipairs(l.grades or {}) do
      if g[1] > b.seq then
        if g[2] == 0 and g[3] == 0 then return false end
        break
      end
    end
    gcra_book(l, 0, span(l, b.to - b.cost))
  end
  if l.a > v + l.cw + MOST_DEBT then l.a, l.b = v + l.cw + MOST_DEBT, 0 end
  return true
end

-- Windows with a beginning know which bookings they hold by the first.
local function settle_window(l, b)
  local more = b.to - b.cost
  if b.seq >= l.opened and now < l.a + (l.kind == 'c' and 2 or 1) * l.p then
    l.b = corrected(l.b, more)
  elseif l.kind == 'c' and b.seq >= l.before and b.seq < l.opened and now < l.a + l.p then
    l.c = corrected(l.c, more)
  else
    return false
  end
  return true
end

local apart = false
for state = 1, #KEYS, 2 do
  local tag, seq, floor, slot, entry, before = number(), number(), number(), number(), number(), text()
  local costs, most, real = {}, 0, 0
  for _ = 1, number() do
    local spec, cost, to = text(), number(), number()
    costs[spec] = { cost = cost, to = to }
    most, real = max(most, cost), max(real, to)
  end
  local k = redis.call('EXISTS', KEYS[state]) == 1 and load(state, state + 1, {}, now)
  if k and k.queue and k.queue.tag == tag then
    local q, alone, changed, nothing = k.queue, k.queue.seq == seq, false, real == 0
    local old = { born = k.born, parts = {} }
    if alone and before ~= '' then
      load_other(old, before, {})
    end
    local v = clock_now(k.clock, now)
    k.v, k.limits = v, k.parts
    for _, l in ipairs(k.parts) do
      local c = costs[l.spec] or { cost = most, to = real }
      local b = { seq = seq, floor = floor, slot = slot, cost = c.cost, to = c.to, alone = alone, a = 0, b = 0 }
      if l.kind == 'g' then b.a = k.born end
      local was
      for _, o in ipairs(old.parts) do
        if o.spec == l.spec then was = o end
      end
      if was then b.a, b.b, b.grades = was.a, was.b, was.grades end
      if not was and before ~= '' then b.alone = false end -- The booking added the limit.
      if c.cost > 0 and c.to ~= c.cost and l.kind ~= 'w' then
        if l.kind == 'g' then
          changed = settle_bucket(l, b, v) or changed
        elseif b.alone and c.to == 0 then
          was = was or { a = 0, b = 0, c = 0, opened = 0, before = 0 }
          l.a, l.b, l.c, l.opened, l.before = was.a, was.b, was.c, was.opened, was.before
          changed = true
        else
          changed = settle_window(l, b) or changed
        end
      end
    end
    if most ~= real and k.log then
      local live = false
      for _, l in ipairs(k.parts) do live = live or (l.kind == 'w' and slot + l.p > v) end
      if live and log_correct(k.log, k.parts, entry, real - most) ~= 0 then changed = true end
    end
    if alone and nothing then
      local o = old.queue or { last = 0, first = 0, cost = 0 }
      q.last, q.first, q.cost, q.seq = o.last, o.first, o.cost, seq - 1
      if k.clock then k.clock.next = old.clock and old.clock.next or 0 end
      changed = true
    elseif changed then
      q.seq, q.cost = q.seq + 1, 0
    end
    if changed then
      k.keeps = true
      write(k, longer)
    end
  end
end
return 1
