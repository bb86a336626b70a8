-- Corrects bookings to other costs; 0 cancels them. request.go lists KEYS and ARGV.
local a = 1
local function number() a = a + 1 return ARGV[a] + 0 end
local function text() a = a + 1 return ARGV[a] end
use('K')
use('O')
use('E')

-- Whether a grade bounds the units that a booking can give back.
local function binds(g, b, k) return g[1] > b.seq and (g[3] == 0 or g[2] > k.slot - k.born) end

-- x, y less w, r. Rests are over q, and may be up to 2q before.
local function less(x, y, w, r, q)
  local over = math.floor((y - r) / q)
  return x - w + over, y - r - over * q
end

-- Takes returned units off the grades from first on. Grades with as much slack or more go.
local function lower(l, first, w, r)
  local list, n = {}, 0
  for i, g in ipairs(F.E.load(l)) do
    if i >= first and g[3] > 0 then
      g[3], g[4] = less(g[3], g[4], w, r, l.q)
      if g[3] < 1 then g[3], g[4] = 1, 0 end
    end
    while n > 0 and (list[n][3] > g[3] or list[n][3] == g[3] and list[n][4] >= g[4]) do
      list[n], n = nil, n - 1
    end
    n = n + 1
    list[n] = g
  end
  F.E.save(l, list)
end

-- A bucket that was full since has forgotten the booking.
local function settle_bucket(k, l, b)
  if (l.b > 0 and l.a + 1 or l.a) <= k.v then return false end
  if b.alone then
    local x, y, w, r = b.a, b.b, F.N.span(l, b.cost)
    if x < b.floor then x, y = b.floor, 0 end
    w, r = less(x + w, y + r, l.a, l.b, l.q) -- Earlier bookings gave this back since.
    l.a, l.b, l.grades = b.a, b.b, b.grades
    if w ~= 0 or r ~= 0 then
      l.a, l.b = less(x, y, w, r, l.q)
      lower(l, 1, w, r)
    end
    if b.to > 0 then
      F.Q.note(k, l, b.seq)
      F.gcra_book(l, b.floor, F.N.span(l, b.to))
    end
  else
    local first, list = 1, F.E.load(l)
    while list[first] and not binds(list[first], b, k) do first = first + 1 end
    local e, w, r = list[first], F.N.span(l, math.abs(b.cost - b.to))
    if e and e[3] == 0 then return false end
    if b.to > b.cost then
      F.gcra_book(l, 0, w, r)
    else
      if e and (e[3] - 1 < w or (e[3] - 1 == w and e[4] < r)) then w, r = e[3] - 1, e[4] end
      lower(l, first, w, r)
      if w == 0 and r == 0 then return false end
      l.a, l.b = less(l.a, l.b, w, r, l.q)
    end
  end
  F.O.bound(k, l)
  return true
end

-- The number of its first booking tells which bookings a window holds. Debt in an earlier
-- window is a change too: it prevents the undo of bookings after it.
local function settle_window(l, b)
  local more = b.to - b.cost
  if b.seq >= l.opened then
    if now >= l.a + (l.kind == 'c' and 2 or 1) * l.p then return l.kind == 'c' and more > 0 and now < l.a end
    l.b = F.N.corrected(l.b, more)
  elseif l.kind == 'c' and b.seq >= l.before and now < l.a + l.p then
    l.c = F.N.corrected(l.c, more)
  else
    return more > 0 and now < l.a
  end
  return true
end

-- Puts the state from before the booking back, as nothing changed since.
local function restore(k, old, costs)
  local q, o = k.queue, old.queue or { last = 0, first = 0, cost = 0 }
  -- Limits that the booking added are removed, and limits that it left out come back.
  local left = {}
  for _, l in ipairs(k.parts) do
    local stays = not costs[l.spec]
    for _, p in ipairs(old.parts) do
      if p.spec == l.spec then stays, l.left, p.stays = true, p.left and l.left, true end
    end
    if stays then left[#left + 1] = l end
  end
  for _, p in ipairs(old.parts) do
    if not p.stays then
      if p.kind == 'w' then
        k.log = k.log or use('G').new(k)
        p.a, p.b = F.G.expired(k.log, p, k.v)
      end
      left[#left + 1] = p
    end
  end
  k.parts = left
  q.last, q.first, q.cost, q.seq = o.last, o.first, math.min(q.cost, o.cost), q.seq - 1
  local c, was = k.clock, old.clock or {}
  if c then
    c.next = was.next or 0
    if c.stand ~= was.stand and q.last < c.stand then c.stand = 0 end
  end
end

for state = 1, #KEYS, 2 do
  local tag, seq, floor, slot, entry, before = number(), number(), number(), number(), number(), text()
  local costs, most, real, nothing, was, is = {}, 0, 0, true, nil, 0
  for _ = 1, number() do
    local spec, cost, to = text(), number(), number()
    if not costs[spec] or cost > costs[spec].cost then costs[spec] = { cost = cost, to = to } end
    most, nothing = math.max(most, cost), nothing and (to == 0 or cost == 0)
    if cost > 0 then real = math.max(real, to) end
    if string.sub(spec, 1, 1) == 'w' then
      was = math.max(was or 0, cost)
      if cost > 0 then is = math.max(is, to) end
    end
  end
  local logged = was and is - was or real - most
  local k = redis.call('EXISTS', KEYS[state]) == 1 and F.load({ state = state, list = state + 1, limits = {} })
  if k and k.queue and k.queue.tag == tag then
    local q, alone, changed, fewer = k.queue, k.queue.seq == seq and before ~= '?', false, true
    local old = { born = k.born, parts = {}, past = true }
    if alone and before ~= '' then F.O.load_other(old, before, {}) end
    k.limits, k.slot, k.keeps = k.parts, slot, true
    for _, c in pairs(costs) do fewer = fewer and (c.cost == 0 or c.to <= c.cost) end
    for _, l in ipairs(k.parts) do
      fewer = fewer and (l.kind == 'g' or l.kind == 'w')
      local c = costs[l.spec] or { cost = most, to = real }
      local b = { seq = seq, floor = floor, cost = c.cost, to = c.to, alone = alone, a = l.kind == 'g' and k.born or 0, b = 0, c = 0, opened = 0, before = 0, grades = '' }
      for _, p in ipairs(old.parts) do
        if p.spec == l.spec then b.a, b.b, b.c, b.opened, b.before, b.grades, b.was = p.a, p.b, p.c, p.opened, p.before, p.grades, true end
      end
      if old.parts[1] and not b.was then b.alone = false end -- The booking added the limit.
      if c.cost > 0 and c.to ~= c.cost and l.kind ~= 'w' then
        if l.kind == 'g' then
          changed = settle_bucket(k, l, b) or changed
        elseif b.alone and c.to == 0 then
          l.a, l.b, l.c, l.opened, l.before, changed = b.a, b.b, b.c, b.opened, b.before, true
        else
          changed = settle_window(l, b) or changed
        end
      end
    end
    if logged ~= 0 and k.log then
      local live = false
      for _, l in ipairs(k.parts) do live = live or (l.kind == 'w' and slot + l.p > k.v) end
      if live and F.G.correct(k.log, k.parts, entry, slot, logged) ~= 0 then changed = true end
    end
    if alone and nothing then
      restore(k, old, costs)
      changed = true
    elseif changed then
      q.cost = 0
      if not fewer then q.seq = q.seq + 1 end -- Else later bookings can still be undone.
    end
    if changed then F.write(k) end
  end
end
return 1
