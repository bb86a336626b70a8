-- The log of a key's sliding windows, one for all of them: a list with an entry for
-- each booking, in the order of their slots. It never is walked: entries have running
-- sums, modulo 2^52. A sum counts from the head of the entry's block of 64; the head
-- has the sum of all before.
--
--   entry    slot.sum           slot: microseconds after the key's birth
--   head     slot.sum.before
--
-- The key's value says of it, and g below:
--
--   first    entries that were dropped
--   n        entries there ever were
--   newest   the slot of the last one, 0 without
--   sum      units of all entries
--   gone     units of those dropped
--   start    sum before the block of the first entry that is there
--   tail     sum before the block of the last one
--
-- Of each window, a says how many entries there were before the first live one, and b
-- their units.
local BLOCK, WRAP = 64, 4503599627370496
local LOG = { 'first', 'n', 'newest', 'sum', 'gone', 'start', 'tail' }

local function log_new(k, i)
  return { key = i, born = k.born, first = 0, n = 0, newest = 0, sum = 0, gone = 0, start = 0, tail = 0, more = {}, seen = {} }
end

-- Slot, sum and, of a head, the sum before of the i-th entry there ever was.
local function log_entry(g, i)
  local e = g.more[i] or g.seen[i]
  if not e then
    local text = redis.call('LINDEX', KEYS[g.key], str(i - g.first))
    local t, s, before = match(text or '', '^(%d+)%.(%d+)%.?(%d*)$')
    if not t or #t > 15 or #s > 16 or #before > 16 or (before ~= '') ~= (i % BLOCK == 0) then rubbish('a log that is not weir\'s') end
    e = { g.born + t, s + 0, before ~= '' and before + 0 or nil }
    g.seen[i] = e
  end
  return e
end

local function log_before(g, i)
  i = i - i % BLOCK
  if i < g.first then return g.start end
  return log_entry(g, i)[3]
end

-- The units of the first n entries.
local function log_sum(g, n)
  if n <= g.first then return g.gone end
  if n >= g.n then return g.sum end
  return (log_before(g, n - 1) + log_entry(g, n - 1)[2]) % WRAP
end

-- The first entry from i on for which f is true, found by doubling steps.
local function log_search(g, i, f)
  local step = 1
  while i + step <= g.n and not f(i + step - 1) do
    i, step = i + step, step * 2
  end
  local last = min(i + step - 1, g.n)
  while i < last do
    local middle = floor((i + last) / 2)
    if f(middle) then last = middle else i = middle + 1 end
  end
  return i
end

-- The first entry that counts at an instant, and the units before it.
local function log_expired(g, l, v)
  local from = min(max(l.a, g.first), g.n)
  local i = log_search(g, from, function(i) return log_entry(g, i)[1] + l.p > v end)
  if i == l.a then return i, l.b end
  return i, log_sum(g, i)
end

local function log_expire(g, l, v)
  l.a, l.b = log_expired(g, l, v)
  l.units = (g.sum - l.b) % WRAP
end

local function log_slot(g, l, at, units)
  at = max(at, g.newest)
  local free = l.max - units
  if l.units <= free then return at end
  local i, before = log_expired(g, l, at)
  if (g.sum - before) % WRAP <= free then return at end
  local last = log_search(g, i, function(i) return (g.sum - log_sum(g, i + 1)) % WRAP <= free end)
  return max(at, log_entry(g, last)[1] + l.p)
end

local function log_push(g, at, units)
  local i, before = g.n, nil
  if i % BLOCK == 0 then g.tail, before = g.sum, g.sum end
  g.sum = (g.sum + units) % WRAP
  g.more[i] = { at, (g.sum - g.tail) % WRAP, before }
  g.n, g.newest = i + 1, at
end

local function log_text(g, e)
  local text = str(e[1] - g.born) .. '.' .. str(e[2])
  return e[3] and text .. '.' .. str(e[3]) or text
end

-- Writes new entries, and drops those that every window has passed once they are a
-- quarter of the log.
local function log_write(g, parts)
  local i = g.n
  while g.more[i - 1] do i = i - 1 end
  for j = i, g.n - 1 do redis.call('RPUSH', KEYS[g.key], log_text(g, g.more[j])) end
  local live = g.n
  for _, l in ipairs(parts) do
    if l.kind == 'w' then live = min(live, l.a) end
  end
  local gone = live - g.first
  if live == g.n and gone > 0 then
    redis.call('DEL', KEYS[g.key])
    g.first, g.gone, g.start, g.tail = g.n, g.sum, g.sum, g.sum
  elseif gone > 8 and gone * 4 > g.n - g.first then
    local sum, start = log_sum(g, live), log_before(g, live)
    redis.call('LTRIM', KEYS[g.key], str(gone), '-1')
    g.first, g.gone, g.start = live, sum, start
  end
end

-- Adds units to an entry, or takes them away. The last entries go when nothing is left
-- of them.
local function log_correct(g, parts, i, more)
  if i < g.first or i >= g.n then return 0 end
  local units = (log_sum(g, i + 1) - log_sum(g, i)) % WRAP
  more = corrected(units, more) - units
  if more == 0 then return 0 end
  local function set(j, e)
    g.seen[j] = e
    redis.call('LSET', KEYS[g.key], str(j - g.first), log_text(g, e))
  end
  local ends = i - i % BLOCK + BLOCK
  for j = i, min(ends, g.n) - 1 do
    local e = log_entry(g, j)
    set(j, { e[1], (e[2] + more) % WRAP, e[3] })
  end
  for j = ends, g.n - 1, BLOCK do
    local e = log_entry(g, j)
    set(j, { e[1], e[2], (e[3] + more) % WRAP })
  end
  if g.n > ends then g.tail = (g.tail + more) % WRAP end
  g.sum = (g.sum + more) % WRAP
  for _, l in ipairs(parts) do
    if l.kind == 'w' and l.a > i then l.b = (l.b + more) % WRAP end
  end
  while g.n > i and g.n > g.first and log_sum(g, g.n) == log_sum(g, g.n - 1) do
    redis.call('RPOP', KEYS[g.key])
    g.n = g.n - 1
    g.seen[g.n] = nil
    if g.n % BLOCK == 0 then g.tail = g.n > g.first and log_before(g, g.n - 1) or g.sum end
  end
  g.newest = g.n > g.first and log_entry(g, g.n - 1)[1] or 0
  if g.n == g.first then g.gone, g.start, g.tail = g.sum, g.sum, g.sum end
  for _, l in ipairs(parts) do
    if l.kind == 'w' and l.a > g.n then l.a, l.b = g.n, g.sum end
  end
  return more
end
