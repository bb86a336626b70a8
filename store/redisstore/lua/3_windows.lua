-- Fixed windows. State: the start of the last window and its count.
local fixed = { fields = 2 }

function fixed.fresh(l) l.start, l.n = 0, 0 end

function fixed.load(l, v) l.start, l.n = v[1], v[2] end

local function check_count(l, n)
  if n > l.max then rubbish('a count over the rate') end
end

function fixed.check(l) check_count(l, l.n) end

function fixed.adapt(l, old, now)
  l.n = math.min(l.n, l.max)
end

function fixed.slot(l, b)
  b = math.max(b, l.start)
  if l.n + l.c > l.max and b < l.start + l.p then b = l.start + l.p end
  return b, b
end

function fixed.book(l, _, s)
  if l.n == 0 or s >= l.start + l.p then l.start, l.n = s, 0 end
  l.n = l.n + l.c
end

function fixed.unbook(l, s)
  if s < l.start or s >= l.start + l.p then return false end
  l.n = math.max(l.n - l.c, 0)
  return true
end

function fixed.save(l) return str(l.start) .. '.' .. str(l.n) end

function fixed.lapse(l) return l.start + l.p end

function fixed.ahead(l) return l.start end

function fixed.shift(l, by) l.start = l.start - by end

function fixed.clamp(l, now) l.start = math.min(l.start, now) end

function fixed.view(l) return l.start, l.n, 0 end

-- Aligned windows: the same, but for where a window starts.
local aligned = setmetatable({}, { __index = fixed })

-- The units of an old window count when it began in the new one.
function aligned.adapt(l, old, now)
  local start = align(now, l.p)
  l.n = l.start < start and 0 or math.min(l.n, l.max)
  l.start = math.max(start, align(l.start, l.p))
end

function aligned.book(l, _, s)
  if l.n == 0 or s >= l.start + l.p then l.start, l.n = align(s, l.p), 0 end
  l.n = l.n + l.c
end

function aligned.shift(l, by) l.start = align(l.start - by, l.p) end

function aligned.clamp(l, now) l.start = math.min(l.start, align(now, l.p)) end

-- Sliding counters. State: the start of the last window, its count and the
-- count of the one before.
local counter = setmetatable({ fields = 3 }, { __index = aligned })

local function roll(start, cur, prev, p, t)
  if t < start + p then return start, cur, prev end
  if t < start + 2 * p then return start + p, 0, cur end
  return align(t, p), 0, 0
end

function counter.fresh(l) l.start, l.cur, l.prev = 0, 0, 0 end

function counter.load(l, v) l.start, l.cur, l.prev = v[1], v[2], v[3] end

function counter.check(l)
  check_count(l, l.cur)
  check_count(l, l.prev)
end

function counter.adapt(l, old, now)
  if l.p == old.p then
    l.cur, l.prev = math.min(l.cur, l.max), math.min(l.prev, l.max)
    return
  end
  local began, cur, prev = roll(l.start, l.cur, l.prev, old.p, now)
  local left = math.min(began + old.p - now, old.p)
  if prev > 0 then cur = cur + muldiv(math.min(prev, old.max), left, old.p) + 1 end
  l.start, l.prev = align(now, l.p), 0
  l.cur = began < l.start and 0 or math.min(cur, l.max)
end

function counter.slot(l, b)
  local start, cur, prev = roll(l.start, l.cur, l.prev, l.p, b)
  if b < start then b = start end
  local room = l.max - cur - l.c
  if room < 0 then
    start, prev, room = start + l.p, cur, l.max - l.c
    b = start
  end
  if prev > room and not product_le(prev, l.p - (b - start), room, l.p) then
    b = start + l.p - muldiv(room, l.p, prev)
  end
  return b, b
end

function counter.book(l, _, s)
  l.start, l.cur, l.prev = roll(l.start, l.cur, l.prev, l.p, s)
  l.cur = l.cur + l.c
end

function counter.unbook(l, s)
  if s >= l.start + l.p or s < l.start - l.p then return false end
  if s >= l.start then
    l.cur = math.max(l.cur - l.c, 0)
  else
    l.prev = math.max(l.prev - l.c, 0)
  end
  return true
end

function counter.save(l) return str(l.start) .. '.' .. str(l.cur) .. '.' .. str(l.prev) end

function counter.lapse(l) return l.start + 2 * l.p end

function counter.view(l) return l.start, l.cur, l.prev end
