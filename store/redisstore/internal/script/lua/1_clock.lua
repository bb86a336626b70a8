-- The clock of a key, see exact.Clock: its numbers are at, v, pause (Until), stand,
-- unit, gap, ends, share, since, step and next. Without one the key's time is the
-- server's.
local FULL, MAX_GAP = 64, 1e12

local function clock_share(c, t)
  if c.share == 0 then return FULL end
  return min(c.share + floor(max(t - c.since, 0) / c.step), FULL)
end

-- The speed as n/d, and when it changes.
local function clock_speed(c, t)
  local n, d, ends = 1, 1, nil
  if t < c.ends and c.gap > c.unit then n, d, ends = c.unit, c.gap, c.ends end
  local share = clock_share(c, t)
  if share < FULL and share * d < n * FULL then
    n, d, ends = share, FULL, c.since + (share - c.share + 1) * c.step
  end
  return n, d, ends
end

local function clock_run(c, v, from, to)
  while from < to do
    local n, d, ends = clock_speed(c, from)
    if n == d then return v + to - from end
    ends = min(ends, to)
    v, from = v + muldiv(ends - from, n, d), ends
  end
  return v
end

local function clock_reach(c, v, from, x)
  while v < x do
    local n, d, ends = clock_speed(c, from)
    if n == d then return from + x - v end
    local q = muldiv(ends - from, n, d)
    if v + q >= x then return from + muldiv_up(x - v, d, n) end
    v, from = v + q, ends
  end
  return from
end

local function clock_now(c, t)
  if not c then return t end
  local v, from = c.v, c.at
  if c.pause > c.at then
    v = clock_run(c, v, from, min(t, c.pause))
    if c.stand > 0 then v = min(v, max(c.stand, c.v)) end
    from = c.pause
  end
  return clock_run(c, v, from, t)
end

local function clock_real(c, x)
  if not c then return x end
  if x <= c.v and (c.pause <= c.at or c.stand == 0 or x < c.stand) then return c.at - (c.v - x) end
  if c.pause <= c.at then return clock_reach(c, c.v, c.at, x) end
  local ends = clock_run(c, c.v, c.at, c.pause)
  if c.stand > 0 and x >= c.stand and ends >= c.stand then return clock_reach(c, max(c.stand, c.v), c.pause, x) end
  if ends >= x then return clock_reach(c, c.v, c.at, x) end
  return clock_reach(c, ends, c.pause, x)
end

local function clock_slow(c, t)
  local n, d = clock_speed(c, t)
  return n ~= d
end

local function clock_floor(c, b, t)
  if t < c.pause then b = max(b, c.stand) end
  if c.next > b and clock_slow(c, t) then b = c.next end
  return b
end

-- In a pause v stands at the first slot that is booked.
local function clock_standing(c, slot, t)
  if not c or t >= c.pause or c.stand > 0 then return c end
  local k = {}
  for name, n in pairs(c) do k[name] = n end
  k.stand = slot
  return k
end

local function clock_book(c, slot, cost, t)
  if cost > 0 and clock_slow(c, t) then
    c.next = slot + (cost <= MAX_GAP / c.unit and c.unit * cost or MAX_GAP)
  end
end

local function clock_lapse(c)
  return max(c.pause, c.ends, c.share > 0 and c.since + (FULL - c.share) * c.step or 0)
end

local CLOCK = { 'at', 'v', 'pause', 'stand', 'unit', 'gap', 'ends', 'share', 'since', 'step', 'next' }

local function clock_load(text)
  local c, i = {}, 0
  for n in string.gmatch(text, '%d+') do
    i = i + 1
    c[CLOCK[i] or 'more'] = tonumber(n)
  end
  if i ~= 2 and i ~= #CLOCK then rubbish('a clock of another length') end
  for j = i + 1, #CLOCK do c[CLOCK[j]] = 0 end
  for _, name in ipairs(CLOCK) do
    if not c[name] or c[name] >= LARGEST then rubbish('a clock out of bounds') end
  end
  if c.at == 0 or c.share > FULL or max(c.unit, c.gap) > MAX_GAP or c.step > 1e13 or (c.share > 0 and c.step < 1) or (c.gap > 0 and c.unit < 1)
    or max(c.pause, c.ends, c.v, c.stand, c.next) > c.at + 1e15 then
    rubbish('a clock out of bounds')
  end
  return c
end

-- A clock at full speed is its first two numbers.
local function clock_save(c)
  if c.pause == 0 and c.gap == 0 and c.share == 0 then return str(c.at) .. '.' .. str(c.v) end
  local list = {}
  for i, name in ipairs(CLOCK) do list[i] = str(c[name]) end
  return concat(list, '.')
end
