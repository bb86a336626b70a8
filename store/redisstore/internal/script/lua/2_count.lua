-- GCRA, the generic cell rate algorithm of ITU-T I.371: a and b are the theoretical
-- arrival time (TAT), whole microseconds and the rest over q. w and r are the time of
-- the units.
local function gcra_slot(l, at, w, r)
  local x, y = l.a + w - l.cw, l.b + r - l.cr
  if y < 0 then x, y = x - 1, y + l.q elseif y >= l.q then x, y = x + 1, y - l.q end
  if x < at then return at, at end
  return x, y > 0 and x + 1 or x
end

local function gcra_book(l, at, w, r)
  if l.a < at then l.a, l.b = at, 0 end
  l.a, l.b = l.a + w, l.b + r
  if l.b >= l.q then
    local rest = fmod(l.b, l.q)
    l.a, l.b = l.a + (l.b - rest) / l.q, rest
  end
end

-- Fixed and aligned windows: a is the start of the last window, b its units.
local function window_slot(l, at, units)
  at = max(at, l.a)
  if l.b + units > l.max and at < l.a + l.p then at = l.a + l.p end
  return at
end

local function window_book(l, at, units)
  if l.b == 0 or at >= l.a + l.p then
    l.a, l.b = l.kind == 'a' and align(at, l.p) or at, 0
  end
  l.b = l.b + units
end

-- The sliding counter: a is the start of the last window, b its units, c those of the
-- window before.
local function counter_roll(l, t)
  if t < l.a + l.p then return l.a, l.b, l.c end
  if t < l.a + 2 * l.p then return l.a + l.p, 0, l.b end
  return align(t, l.p), 0, 0
end

local function counter_slot(l, at, units)
  local start, cur, prev = counter_roll(l, at)
  at = max(at, start)
  local room = l.max - cur - units
  if room < 0 then
    start, prev, room = start + l.p, cur, l.max - units
    at = start
  end
  if prev > room and product_less(room, l.p, prev, l.p - (at - start)) then
    at = start + l.p - muldiv(room, l.p, prev)
  end
  return at
end

local function counter_book(l, at, units)
  l.a, l.b, l.c = counter_roll(l, at)
  l.b = l.b + units
end

-- How many units of a limit, but a sliding window, are used at an instant; of a
-- window with a beginning by the server's time, else by the key's.
local function used(l, at)
  local units = at < l.a + l.p and l.b or 0
  if l.kind == 'g' then
    local ahead = l.a + (l.b > 0 and 1 or 0) - at
    units = ahead > 0 and muldiv_up(ahead, l.q, l.num) or 0
  elseif l.kind == 'c' then
    local start, cur, prev = counter_roll(l, at)
    units = cur + muldiv_up(prev, l.p - max(at - start, 0), l.p)
  end
  return min(units, l.max)
end

-- The instant from which a limit is as if never used.
local function lapse(l, newest)
  if l.kind == 'g' then return l.b > 0 and l.a + 1 or l.a end
  if l.kind == 'w' then return newest + l.p end
  if l.kind == 'c' then return (l.b > 0 and l.a + 2 * l.p) or (l.c > 0 and l.a + l.p) or 0 end
  return l.b > 0 and l.a + l.p or 0
end
