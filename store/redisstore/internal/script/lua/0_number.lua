-- Numbers are whole and below 2^53, where doubles are exact. Times are microseconds
-- since the Unix epoch. Functions have the names they have in package exact.
local floor, fmod, max, min = math.floor, math.fmod, math.max, math.min
local format, match, sub, byte, concat = string.format, string.match, string.sub, string.byte, table.concat
local MOST, LARGEST = 1125899906842624, 9007199254740992 -- 2^50 units, 2^53
local MOST_UNITS, MOST_DEBT = 2 * MOST, 394200000000000

local function str(n) return format('%.0f', n) end

-- A value that is not weir's ends the script before anything changes.
local function rubbish(what) error('WEIRSTATE ' .. what, 0) end

-- ARGV[1] is empty for the server's clock, or the time. A '+' behind it makes keys
-- live an hour longer, for tests.
local function clock()
  local at, longer = match(ARGV[1], '^(%d+)(%+?)$')
  if at then return tonumber(at), longer == '+' and 3600000 or 0 end
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2], 0
end

-- The start of the window of length p, counted from the epoch, that holds t.
local function align(t, p) return t - fmod(t, p) end

-- The product of two numbers below 2^52 as its high and low 52 bits.
local HALF = 67108864
local function mul(a, b)
  local al, bl = a % HALF, b % HALF
  local ah, bh = (a - al) / HALF, (b - bl) / HALF
  local low = al * bl
  local low0 = low % HALF
  local mid = ah * bl + al * bh + (low - low0) / HALF
  local mid0 = mid % HALF
  return ah * bh + (mid - mid0) / HALF, mid0 * HALF + low0
end

-- a * b < c * d
local function product_less(a, b, c, d)
  local h1, l1 = mul(a, b)
  local h2, l2 = mul(c, d)
  return h1 < h2 or (h1 == h2 and l1 < l2)
end

-- floor(a * b / c), and what is left of a * b. The quotient in doubles is off by a
-- few at most.
local function muldiv(a, b, c)
  local q = floor(a / c * b)
  while not product_less(a, b, c, q + 1) do q = q + 1 end
  while product_less(a, b, c, q) do q = q - 1 end
  local _, l1 = mul(a, b)
  local _, l2 = mul(c, q)
  return q, (l1 - l2) % 4503599627370496
end

-- a * b / c rounded up.
local function muldiv_up(a, b, c)
  local q, rest = muldiv(a, b, c)
  return rest > 0 and q + 1 or q
end

-- The limit that a part of a value names, as "g25/5000000" or "g25/5000000/50": its
-- algorithm, rate, period and burst.
local function rule(spec)
  local kind, rate, p, burst = match(spec, '^([gwcfa])(%d+)/(%d+)/?(%d*)$')
  if not kind then rubbish('a limit that is not weir\'s') end
  local l = { spec = spec, kind = kind, p = tonumber(p), max = tonumber(burst ~= '' and burst or rate), a = 0, b = 0, c = 0, units = 0 }
  local r = tonumber(rate)
  if min(r, l.p, l.max) < 1 or max(r, l.max) > MOST or max(l.p, l.p / r * l.max) > 2e15 then rubbish('a limit out of bounds') end
  if kind == 'g' then
    local a, b = l.p, r
    while b ~= 0 do a, b = b, fmod(a, b) end
    l.num, l.q = l.p / a, r / a
    l.cw, l.cr = muldiv(l.max, l.num, l.q)
  end
  return l
end

-- The time of n units: whole microseconds and the rest, cut off as exact.Debt is.
local function span(l, n)
  if n / l.q * l.num >= 1.6e15 + MOST_DEBT then return 1576800000000000 + MOST_DEBT, 0 end
  return muldiv(n, l.num, l.q)
end

local function corrected(units, more) return min(max(units + more, 0), max(units, MOST_UNITS)) end
