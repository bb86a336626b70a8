if part == 'N' and not F.N then
local N
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

-- math.floor(a * b / c), and the remainder of a * b. The quotient in doubles is off by a few
-- at most. With larger numbers than those allowed, the script would run for ever.
muldiv = function(a, b, c)
  local q = math.floor(a / c * b)
  if not (q >= 0 and q < 9007199254740992) then F.bad('a number out of bounds') end
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

-- The time of n calls under a bucket. The last call also needs its reserve.
need = function(l, n)
  local r = l.ir * (n - 1) + l.nr
  local rest = r % l.q
  local w = l.iw * (n - 1) + l.nw + (r - rest) / l.q
  if w > l.cw or w == l.cw and rest > l.cr then w = 9007199254740991 end -- An empty bucket does not hold so much.
  return w, rest
end,

-- The limit named in a part of a value, as "g25/5s" or "g25/1500000/50": its algorithm, rate,
-- period in seconds or µs, and burst.
rule = function(spec)
  local kind, rate, p, s, burst = string.match(spec, '^([gwcfa])(%d+)/(%d+)(s?)/?(%d*)$')
  if not kind or math.max(#rate, #p, #burst) > 16 then F.bad('a limit that is not weir\'s') end
  local l = { spec = spec, kind = kind, p = s == 's' and p * 1000000 or tonumber(p), max = tonumber(burst ~= '' and burst or rate), a = 0, b = 0, c = 0, opened = 0, before = 0, grades = '' }
  local r = tonumber(rate)
  if math.min(r, l.p, l.max) < 1 or math.max(r, l.max) > 1125899906842624 or math.max(l.p, l.p / r * l.max) > 2e15 then F.bad('a limit out of bounds') end
  if kind ~= 'g' then
    use('W')
  else
    local a, b = l.p, r
    while b ~= 0 do
      local rest = a % b
      a = b
      b = rest
    end
    l.num, l.q = l.p / a, r / a
    l.cw, l.cr = N.muldiv(l.max, l.num, l.q)
  end
  return l
end,

-- The time of n units: whole microseconds and the rest, cut off as exact.Pace.Span is.
span = function(l, n)
  if n / l.q * l.num >= 1.6e15 + 394200000000000 then return 1576800000000000 + 394200000000000, 0 end
  return N.muldiv(n, l.num, l.q)
end,

corrected = function(units, more) return math.min(math.max(units + more, 0), math.max(units, 2251799813685248)) end,
}
F.N = N
end
