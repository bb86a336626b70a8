-- Restores a loss, and adds units that a caller admitted without the server: see
-- store.Restorer.
--
--   KEYS  state, log, the mark of the id
--   ARGV  clock, "restore", seen, last known slot, last slot that was spent, when units were
--         spent last (0: now), id ("": nothing was spent), number of limits; for each: text,
--         the three numbers that are known, and those that are spent; see store.Used
--
-- A limit remembers R, its restored state: ra, rb, rc. A caller's K raises R to K if K is
-- larger, and raises the state by the difference. So callers may restore in any order, and
-- each unit counts once.
if part == 'R' and not F.R then
F.R = function()
use('K')
use('O')
local a = 2
local function text() a = a + 1 return ARGV[a] end
local function number() return text() + 0 end
local seen, last, ahead, spent_at, limits, known, spent = text(), number(), number(), number(), {}, {}, {}
local id, named, furthest = text(), {}, now + 3942e11 -- a wait of 12.5 years
for _ = 1, number() do
  local l = F.N.rule(text())
  local K, S = { number(), number(), number() }, { number(), number(), number() }
  if not named[l.spec] then
    local most = l.kind == 'g' and furthest + 15768e11 or furthest
    K[1], S[1] = math.min(K[1], most), math.min(S[1], most)
    l.cost, named[l.spec], limits[#limits + 1] = 0, true, l
    known[l], spent[l] = K, S
  end
end
local k = F.load({ state = 1, list = 2, limits = limits }, seen)
local lost, adds = k.undecided == -3
-- A last unit in the future means that the server's clock stepped back since. A caller knows
-- that clock to about 5 ms.
local back = math.max(spent_at - 5000 - now, 0)
ahead = ahead - back
-- Spent units of an ID only grow, so those added before are not added again.
if id ~= '' and not (k.restored == 0 and spent_at > 0 and spent_at < k.born) then
  local mark, i, list, over = redis.call('GET', KEYS[3]) or '', 1, {}, now + 1000
  for _, l in ipairs(limits) do
    local S, x, y, z, ends = spent[l], string.match(mark, '^(%d+)%.(%d+)%.(%d+),?()', i)
    S.x, S.y, S.z, i = (x or 0) + 0, (y or 0) + 0, (z or 0) + 0, ends or #mark + 1
    over = math.max(over, S[1] + 2 * l.p) -- They count no more then.
    adds = adds or S[1] > S.x or S[2] > S.y or ahead > now
    list[#list + 1] = string.format('%d.%d.%d', S[1], S[2], S[3])
    local by = back > 0 and (l.kind == 'a' or l.kind == 'c') and math.max(S[1] - now + now % l.p, 0) or back
    S[1], S.x = S[1] - by, S.x - by
  end
  if adds then redis.call('SET', KEYS[3], table.concat(list, ','), 'PX', math.min(math.ceil((over - now) / 1000), 600000)) end
end
if not lost and not adds then
  if k.shifted then F.write(k) end
  return 0
end
if k.parts ~= limits then F.O.forget(k) end
local v, q = k.v, k.queue
if q then
  if q.tag > 0 then q.seq, q.at = q.seq + 1, now end
  q.cost = 0
end
k.slot, k.keeps = v, true
local birth = math.max(k.restored or 0, k.born)

-- Books time in a bucket: up to its brim, or up to a time x, y if that is later.
local function fill(l, from, w, r, x, y)
  local function most(t, rest) if t > x or t == x and rest > y then x, y = t, rest end end
  most(l.a, l.b)
  most(v + l.cw, l.cr)
  F.gcra_book(l, from, w, r)
  if l.a > x or l.a == x and l.b > y then l.a, l.b = x, y end
  F.O.bound(k, l)
end

-- The bucket was not full while K lasts, so all units since the birth count. Time in which
-- the new bucket was full counts as units, too.
local function restore_bucket(l, K)
  local x, y, t = l.ra or 0, l.rb or 0, K[1] + v - now
  local from = l.new and math.max(v, q and q.last or 0) or birth
  if x < from then x, y = from, 0 end
  local w, r = t - x, K[2] - y
  if r < 0 then w, r = w - 1, r + l.q end
  if t < v or w < 0 then return end
  l.ra, l.rb = t, K[2]
  if l.a < x then l.a, l.b = x, y end
  fill(l, 0, w, r, t, K[2])
end

-- Units join the last window, or their own window if that is later. Windows that overlap are
-- one: the clock may have stepped back. Units of a window that is over do not count. They
-- fill the window up to most.
local function window_add(l, start, units, most)
  if units == 0 or start + l.p <= now then return end
  if l.a <= now and l.b == 0 or l.a + l.p <= math.max(start, now) then
    l.a, l.b = start, math.min(units, most)
  elseif l.a < start + l.p then
    -- With slots ahead the window stays where it is.
    l.a = q and q.last > v and l.a or math.min(l.a, start)
    l.was = l.a
    l.b = math.min(l.b + units, math.max(l.b, most))
  end
end

-- Windows open now are one window. A window ahead tells nothing about it.
local function restore_window(l, K)
  local start, had, x = K[1], 0, l.ra or 0
  if start + l.p <= now then return end
  if x + l.p > now and start <= math.max(x, now) then
    if x > now and start < x then return end
    had = l.rb or 0
  end
  if K[2] <= had then return end
  l.ra, l.rb = math.max(x, start), K[2]
  window_add(l, start, K[2] - had, math.max(l.max, K[2]))
end

local function roll(l, x, y, z, at)
  return F.W.counter_roll({ p = l.p, a = x, b = y, c = z }, at)
end

local function counter_add(l, start, cur, prev, most)
  if cur == 0 and prev == 0 then return end
  local x, y, z = F.W.counter_roll(l, now)
  if start > x then x, y, z = roll(l, x, y, z, start) end
  x, cur, prev = roll(l, start, cur, prev, x)
  l.a, l.b, l.c = x, math.min(y + cur, math.max(y, most)), math.min(z + prev, math.max(z, most))
end

local function restore_counter(l, K)
  local at = math.max(now, l.ra or 0, K[1])
  local start, cur, prev = roll(l, K[1], K[2], K[3], at)
  local _, y, z = roll(l, l.ra or 0, l.rb or 0, l.rc or 0, at)
  l.ra, l.rb, l.rc = start, math.max(cur, y), math.max(prev, z)
  counter_add(l, start, l.rb - y, l.rc - z, math.max(l.max, cur, prev))
end

-- Adds units of sliding windows to the log at a slot, or later. In a new log the wider
-- windows have entries of their own before the common entry. rc is the entry of each window.
local function log_add(units, at)
  local list = {}
  for _, l in ipairs(k.parts) do
    if (units[l] or 0) > 0 then list[#list + 1] = l end
  end
  if #list == 0 then return at end
  local g, fresh = k.log, k.log.n == k.log.first
  table.sort(list, function(x, y) return units[x] > units[y] end)
  -- Slots count from the birth.
  if not k.value then k.born = math.min(k.born, at) end
  g.born, at = k.born, math.max(at, k.born, g.newest)
  for i, l in ipairs(list) do
    local more = units[l] - (list[i + 1] and units[list[i + 1]] or 0)
    if fresh then l.a, l.b = g.n, g.sum end
    l.entry = g.n
    if more > 0 then F.G.push(g, at, more) end
  end
  for _, l in ipairs(fresh and k.parts or {}) do
    if l.kind == 'w' and (units[l] or 0) == 0 then l.a, l.b = g.n, g.sum end
  end
  return at
end

-- A caller that knows a newer unit also knows when others lapse: all restored units move.
local function restore_log()
  local g, units, had, at, moves = k.log, {}, {}, 0, false
  for _, l in ipairs(k.parts) do
    local K = l.kind == 'w' and known[l]
    if K then
      l.a, l.b = F.G.expired(g, l, v)
      local t, x, y = K[1] + v - now, l.ra or 0, l.rb or 0
      if x + l.p <= v then y = 0 end
      local more = t + l.p > v and K[2] or 0
      units[l], had[l] = math.max(y, more), y
      moves = moves or more > y or more > 0 and t > x
      at = math.max(at, y > 0 and x or 0, more > 0 and t or 0)
    end
  end
  if not moves then return end
  for l, y in pairs(had) do
    if y > 0 then F.G.correct(g, k.parts, l.rc, l.ra, -2^51) end
  end
  at = log_add(units, at)
  for l, y in pairs(units) do
    if y > 0 then l.ra, l.rb, l.rc = at, y, l.entry end
  end
end

-- Units fill the windows that end at their slot. Earlier units may have lapsed by then.
local function spend_log()
  local g, more, units, at = k.log, {}, {}, 0
  for _, l in ipairs(k.parts) do
    local S = l.kind == 'w' and spent[l]
    if S and S[1] + l.p > now then
      more[l] = S[2] - (S.x + l.p > now and S.y or 0)
      at = math.max(at, S[1] + v - now)
    end
  end
  local slot = math.max(at, g.newest, v)
  for _, l in ipairs(k.parts) do
    if more[l] then
      l.a, l.b = F.G.expired(g, l, v)
      local _, before = F.G.expired(g, l, slot)
      units[l] = math.max(math.min(more[l], l.max - (g.sum - before) % 2^52), 0)
    end
  end
  log_add(units, at)
end

for _, l in ipairs(k.parts) do
  local K, S, kind = known[l], spent[l], l.kind
  if K and kind ~= 'w' then
    local tagged, a, b = q and q.tag > 0, l.a, l.b
    if tagged and kind == 'g' then F.Q.note(k, l, q.seq) end
    if lost then
      if kind == 'g' then restore_bucket(l, K) elseif kind == 'c' then restore_counter(l, K) else restore_window(l, K) end
    end
    if adds then
      if kind == 'c' then
        local at = math.max(now, S[1])
        local start, cur, prev = roll(l, S[1], S[2], S[3], at)
        local _, y, z = roll(l, S.x, S.y, S.z, at)
        counter_add(l, start, math.max(cur - y, 0), math.max(prev - z, 0), l.max)
      elseif kind ~= 'g' then
        window_add(l, S[1], math.max(S[2] - (S.x == S[1] and S.y or 0), 0), l.max)
      elseif S[1] >= now and (S[1] > S.x or S[2] > S.y) then
        local w, r = S[1] - math.max(S.x, now), S.x >= now and S[2] - S.y or S[2]
        if r < 0 then w, r = w - 1, r + l.q end
        fill(l, v, w, r, v + S[1] - now, S[2])
      end
    end
    if tagged then F.Q.noted(l, q.seq, l.was or a, b) end
  end
  l.new = nil
end
if k.log then
  if lost then restore_log() end
  if adds then spend_log() end
end

-- The first slot ahead is not known, so a pause holds all slots.
local slot = math.min(math.max(lost and last or 0, adds and ahead or 0), furthest)
if k.clock then slot = F.C.now(k.clock, slot) end
if slot > v then
  q = q or { last = 0, first = 0, cost = 0, tag = 0, seq = 0 }
  k.queue, q.at, q.first, q.cost, q.last = q, now, v + 1, 0, math.max(q.last, slot)
end
if lost or slot > v or k.born < birth then k.restored = k.restored or birth end
F.write(k)
return lost and 1 or 0
end
end
