-- The log of a key's sliding windows, one for all of them: a list with an entry for each
-- booking, in the order of their slots. No step walks it: entries have running sums, modulo
-- 2^52. A sum counts from the head of the entry's block of 256. The head also has the sum of
-- all earlier entries.
--
--   entry    slot.sum           slot: microseconds after the key's birth
--   head     slot.sum.before
--
-- The fields of the log in the key's value, and of g below:
--
--   first    entries dropped
--   n        entries ever added
--   newest   the slot of the last one
--   sum      units of all entries
--   gone     units of the dropped ones
--   start    sum before the block of the first entry in the list
--   tail     sum before the block of the last one
--
-- For each window, a is the number of entries before the first live one, and b their units.
if part == 'G' and not F.G then
local G
G = {
new = function(k)
  -- A receipt of an earlier log must name no entry of this one.
  local n = k.queue and k.queue.tag > 0 and now - now % 256 or 0
  return { key = k.list, born = k.born, first = n, n = n, stored = n, newest = 0, sum = 0, gone = 0, start = 0, tail = 0, entries = {} }
end,

load = function(k, text)
  local first, n, newest, sum, gone, start, tail = string.match(text, '^(%d+)%.(%d+)%.(%d+)%.(%d+)%.(%d+)%.(%d+)%.(%d+)$')
  if not first then F.bad('a log of another length') end
  local g = {
    key = k.list, born = k.born, first = first + 0, n = n + 0, stored = n + 0, newest = newest + 0,
    sum = sum + 0, gone = gone + 0, start = start + 0, tail = tail + 0, entries = {},
  }
  if g.first > g.n or g.newest >= 4503599627370496 or math.max(g.n, g.sum, g.gone, g.start, g.tail) >= 9007199254740992 then
    F.bad('a log out of bounds')
  end
  g.newest = g.n > g.first and k.born + g.newest or 0
  return g
end,

save_value = function(k)
  local g = k.log
  return string.format('|l%d.%d.%d.%d.%d.%d.%d', g.first, g.n, g.newest > 0 and g.newest - k.born or 0, g.sum, g.gone, g.start, g.tail)
end,

-- Slot and sum of the i-th entry ever added; of a head also the sum before.
entry = function(g, i)
  return g.entries[i] or G.read(g, i, redis.call('LINDEX', KEYS[g.key], string.format('%d', i - g.first)))
end,

read = function(g, i, text)
  local t, s, before = string.match(text or '', '^(%d+)%.(%d+)%.?(%d*)$')
  if not t or math.max(#t, #s, #before) > 16 or (before ~= '') ~= (i % 256 == 0) then F.bad('a log that is not weir\'s') end
  local e = { g.born + t, s + 0, before ~= '' and before + 0 or nil }
  g.entries[i] = e
  return e
end,

before = function(g, i)
  i = i - i % 256
  if i < g.first then return g.start end
  return G.entry(g, i)[3]
end,

-- The units of the first n entries ever added.
sum = function(g, n)
  if n <= g.first then return g.gone end
  if n >= g.n then return g.sum end
  return (G.before(g, n - 1) + G.entry(g, n - 1)[2]) % 4503599627370496
end,

-- The first entry from i on for which f is true. The steps double.
search = function(g, i, f)
  local step = 1
  while i + step <= g.n and not f(i + step - 1) do
    i = i + step
    step = step * 2
  end
  local last = math.min(i + step - 1, g.n)
  while i < last do
    local middle = math.floor((i + last) / 2)
    if f(middle) then last = middle else i = middle + 1 end
  end
  return i
end,

-- The first entry that counts at an instant, and the units before it.
expired = function(g, l, v)
  local from = math.min(math.max(l.a, g.first), g.n)
  local i = G.search(g, from, function(i) return G.entry(g, i)[1] + l.p > v end)
  if i == l.a then return i, l.b end
  return i, G.sum(g, i)
end,

-- The live units of a window, or enough to fill it. The sum of all units ahead could exceed a
-- number, so they are added in steps.
live = function(g, l, v)
  if g.newest <= v then return (g.sum - l.b) % 4503599627370496 end
  local units, i, before, step = 0, l.a, l.b, math.floor(4503599627370495 / l.max)
  for _ = 1, 64 do
    if i >= g.n or units >= l.max then return units end
    i = math.min(i + step, g.n)
    local sum = G.sum(g, i)
    units, before = units + (sum - before) % 4503599627370496, sum
  end
  return l.max
end,

slot = function(g, l, at, units)
  at = math.max(at, g.newest)
  local free = l.max - units
  local i, before = G.expired(g, l, at)
  if (g.sum - before) % 4503599627370496 <= free then return at end
  local last = G.search(g, i, function(i) return (g.sum - G.sum(g, i + 1)) % 4503599627370496 <= free end)
  return math.max(at, G.entry(g, last)[1] + l.p)
end,

push = function(g, at, units)
  local i, before = g.n, nil
  if i % 256 == 0 then g.tail, before = g.sum, g.sum end
  g.sum = (g.sum + units) % 4503599627370496
  g.entries[i] = { at, (g.sum - g.tail) % 4503599627370496, before }
  g.n, g.newest = i + 1, at
end,

text = function(g, e)
  return string.format(e[3] and '%d.%d.%d' or '%d.%d', e[1] - g.born, e[2], e[3] or 0)
end,

-- The largest cost of n calls under a sliding window that they name; nil without.
units = function(limits, n)
  local most
  for i = 1, #limits do
    local l = limits[i]
    if l.kind == 'w' and (not most or l.cost * n > most) then most = l.cost * n end
  end
  return most
end,

-- Without a window the log starts anew.
clear = function(g)
  g.first, g.gone, g.start, g.tail, g.newest, g.stale = g.n, g.sum, g.sum, g.sum, 0, true
end,

-- Writes new entries. It drops those that every window has passed once they are a quarter of
-- the log. Without a window there is no log, and it reports false.
save = function(g, parts)
  local live
  for _, l in ipairs(parts) do
    if l.kind == 'w' and (not live or l.a < live) then live = l.a end
  end
  if not live then
    redis.call('DEL', KEYS[g.key])
    return false
  end
  if g.stale then redis.call('DEL', KEYS[g.key]) end
  for i = g.stored, g.n - 1 do redis.call('RPUSH', KEYS[g.key], G.text(g, g.entries[i])) end
  local gone = live - g.first
  if live == g.n and gone > 0 then
    redis.call('DEL', KEYS[g.key])
    g.first, g.gone, g.start, g.tail = g.n, g.sum, g.sum, g.sum
  elseif gone > 8 and gone * 4 > g.n - g.first then
    local sum, start = G.sum(g, live), G.before(g, live)
    redis.call('LTRIM', KEYS[g.key], string.format('%d', gone), '-1')
    g.first, g.gone, g.start = live, sum, start
  end
  return true
end,

-- Adds units to the entry of a slot, or takes them away. Last entries without units are
-- removed.
correct = function(g, parts, i, slot, more)
  if i < g.first or i >= g.n or G.entry(g, i)[1] ~= slot then return 0 end
  local units = (G.sum(g, i + 1) - G.sum(g, i)) % 4503599627370496
  use('N')
  more = F.N.corrected(units, more) - units
  if more == 0 then return 0 end
  local function set(j, e)
    g.entries[j] = e
    redis.call('LSET', KEYS[g.key], string.format('%d', j - g.first), G.text(g, e))
  end
  local ends = i - i % 256 + 256
  local list = redis.call('LRANGE', KEYS[g.key], string.format('%d', i - g.first), string.format('%d', math.min(ends, g.n) - 1 - g.first))
  for j = i, i + #list - 1 do
    local e = G.read(g, j, list[j - i + 1])
    set(j, { e[1], (e[2] + more) % 4503599627370496, e[3] })
  end
  for j = ends, g.n - 1, 256 do
    local e = G.entry(g, j)
    set(j, { e[1], e[2], (e[3] + more) % 4503599627370496 })
  end
  if g.n > ends then g.tail = (g.tail + more) % 4503599627370496 end
  g.sum = (g.sum + more) % 4503599627370496
  for _, l in ipairs(parts) do
    if l.kind == 'w' and l.a > i then l.b = (l.b + more) % 4503599627370496 end
  end
  while g.n > i and g.n > g.first and G.sum(g, g.n) == G.sum(g, g.n - 1) do
    redis.call('RPOP', KEYS[g.key])
    g.n = g.n - 1
    g.entries[g.n] = nil
    if g.n % 256 == 0 then g.tail = g.n > g.first and G.before(g, g.n - 1) or g.sum end
  end
  g.stored = math.min(g.stored, g.n)
  g.newest = g.n > g.first and G.entry(g, g.n - 1)[1] or 0
  if g.n == g.first then g.gone, g.start, g.tail = g.sum, g.sum, g.sum end
  for _, l in ipairs(parts) do
    if l.kind == 'w' and l.a > g.n then l.a, l.b = g.n, g.sum end
  end
  return more
end,
}
F.G = G
end
