numbers = function()
if N then return end
N = {
-- The product of two numbers below 2^52 as its high and low 52 bits.
mul = function(a, b)
  local al, bl = a % 67108864, b % 67108864
  local ah, bh = (a - al) / 67108864, (b - bl) / 67108864
  local low = al * bl
  local low0 = low % 67108864
  local mid = ah * bl + al * bh + (low - low0) / 67108864
  local mid0 = mid % 67108864
  return ah * bh + (mid - mid0) / 67108864, mid0 * 67108864 + low0
end,

-- a * b < c * d
product_less = function(a, b, c, d)
  local h1, l1 = N.mul(a, b)
  local h2, l2 = N.mul(c, d)
  return h1 < h2 or (h1 == h2 and l1 < l2)
end,

-- math.floor(a * b / c), and what is left of a * b. The quotient in doubles is off by a
-- few at most. Beyond what numbers hold, the script would run for ever.
muldiv = function(a, b, c)
  local q = math.floor(a / c * b)
  if not (q >= 0 and q < 9007199254740992) then F.rubbish('a number out of bounds') end
  while not N.product_less(a, b, c, q + 1) do q = q + 1 end
  while N.product_less(a, b, c, q) do q = q - 1 end
  local _, l1 = N.mul(a, b)
  local _, l2 = N.mul(c, q)
  return q, (l1 - l2) % 4503599627370496
end,

-- a * b / c rounded up.
muldiv_up = function(a, b, c)
  local q, rest = N.muldiv(a, b, c)
  return rest > 0 and q + 1 or q
end,

-- The time of n calls under a bucket, of which the last needs as much as it has to
-- leave.
need = function(l, n)
  local r = l.ir * (n - 1) + l.nr
  local rest = math.fmod(r, l.q)
  return l.iw * (n - 1) + l.nw + (r - rest) / l.q, rest
end,

-- The limit that a part of a value names, as "g25/5s" or "g25/1500000/50": its algorithm,
-- rate, period in seconds or µs, and burst.
rule = function(spec)
  local kind, rate, p, s, burst = string.match(spec, '^([gwcfa])(%d+)/(%d+)(s?)/?(%d*)$')
  if not kind or math.max(#rate, #p, #burst) > 16 then F.rubbish('a limit that is not weir\'s') end
  local l = { spec = spec, kind = kind, p = s == 's' and p * 1000000 or tonumber(p), max = tonumber(burst ~= '' and burst or rate), a = 0, b = 0, c = 0, units = 0 }
  local r = tonumber(rate)
  if math.min(r, l.p, l.max) < 1 or math.max(r, l.max) > 1125899906842624 or math.max(l.p, l.p / r * l.max) > 2e15 then F.rubbish('a limit out of bounds') end
  if kind == 'g' then
    local a, b = l.p, r
    while b ~= 0 do
      local rest = math.fmod(a, b)
      a = b
      b = rest
    end
    l.num, l.q = l.p / a, r / a
    l.cw, l.cr = N.muldiv(l.max, l.num, l.q)
  end
  return l
end,

-- The time of n units: whole microseconds and the rest, cut off as exact.Debt is.
span = function(l, n)
  if n / l.q * l.num >= 1.6e15 + 394200000000000 then return 1576800000000000 + 394200000000000, 0 end
  return N.muldiv(n, l.num, l.q)
end,

corrected = function(units, more) return math.min(math.max(units + more, 0), math.max(units, 2251799813685248)) end,
-- The sliding counter: a is the start of the last window, b its units, c those of the
-- window before.
counter_roll = function(l, t)
  if t < l.a + l.p then return l.a, l.b, l.c end
  if t < l.a + 2 * l.p then return l.a + l.p, 0, l.b end
  return F.align(t, l.p), 0, 0
end,

counter_slot = function(l, at, units)
  local start, cur, prev = N.counter_roll(l, at)
  at = math.max(at, start)
  local room = l.max - cur - units
  if room < 0 then
    start, prev, room = start + l.p, cur, l.max - units
    at = start
  end
  if prev > room and N.product_less(room, l.p, prev, l.p - (at - start)) then
    at = start + l.p - N.muldiv(room, l.p, prev)
  end
  return at
end,

counter_book = function(l, at, units)
  l.a, l.b, l.c = N.counter_roll(l, at)
  l.b = l.b + units
end,

} end
