-- Numbers are whole and below 2^53, where doubles are exact. Times are
-- microseconds since the Unix epoch.
local MOST = 1125899906842624 -- units, 2^50
local UNITS = 2 * MOST -- that settled costs may make of a window

local function str(n) return string.format('%.0f', n) end

-- The start of the window of length p, counted from the epoch, that holds t.
-- (t % p would go through t / p, which doubles round.)
local function align(t, p) return t - math.fmod(t, p) end

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

-- a * b <= c * d
local function product_le(a, b, c, d)
  local h1, l1 = mul(a, b)
  local h2, l2 = mul(c, d)
  return h1 < h2 or (h1 == h2 and l1 <= l2)
end

-- floor(a * b / c). The quotient in doubles is off by a few at most.
local function muldiv(a, b, c)
  local q = math.floor(a / c * b)
  while product_le(c, q + 1, a, b) do q = q + 1 end
  while not product_le(c, q, a, b) do q = q - 1 end
  return q
end

local function split(text, pattern)
  local list = {}
  for part in string.gmatch(text, pattern) do list[#list + 1] = part end
  return list
end

-- What is written under a key but can't be weir's ends the script before
-- anything is changed.
local function rubbish(what) error('WEIRSTATE ' .. what, 0) end

-- Fills in a table when it is first asked for something. All that is below would
-- be made anew for each call of the script, most of which need little of it.
local LAZY = {}
function LAZY.__index(t, name)
  local fill = t[LAZY]
  setmetatable(t, nil)
  t[LAZY] = nil
  fill(t)
  return t[name]
end
local function lazy(fill) return setmetatable({ [LAZY] = fill }, LAZY) end
