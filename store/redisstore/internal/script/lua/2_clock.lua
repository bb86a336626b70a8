-- The clock of a key, see exact.Clock: its numbers are at, v, pause (Until), stand,
-- unit, gap, ends, share, since, step and next. Without one the key's time is the
-- server's.
if part == 'C' and not F.C then
use('N')
local C
C = {
names = { 'at', 'v', 'pause', 'stand', 'unit', 'gap', 'ends', 'share', 'since', 'step', 'next' },

share = function(c, t)
  if c.share == 0 then return 64 end
  return math.min(c.share + math.floor(math.max(t - c.since, 0) / c.step), 64)
end,

-- The speed as n/d, and when it changes.
speed = function(c, t)
  local n, d, ends = 1, 1, nil
  if t < c.ends and c.gap > c.unit then n, d, ends = c.unit, c.gap, c.ends end
  local share = C.share(c, t)
  if share < 64 and share * d < n * 64 then
    n, d, ends = share, 64, c.since + (share - c.share + 1) * c.step
  end
  return n, d, ends
end,

run = function(c, v, from, to)
  while from < to do
    local n, d, ends = C.speed(c, from)
    if n == d then return v + to - from end
    ends = math.min(ends, to)
    v, from = v + F.N.muldiv(ends - from, n, d), ends
  end
  return v
end,

reach = function(c, v, from, x)
  while v < x do
    local n, d, ends = C.speed(c, from)
    if n == d then return from + x - v end
    local q = F.N.muldiv(ends - from, n, d)
    if v + q >= x then return from + F.N.muldiv_up(x - v, d, n) end
    v, from = v + q, ends
  end
  return from
end,

now = function(c, t)
  if not c then return t end
  local v, from = c.v, c.at
  if c.pause > c.at then
    v = C.run(c, v, from, math.min(t, c.pause))
    if c.stand > 0 then v = math.min(v, math.max(c.stand, c.v)) end
    from = c.pause
  end
  return C.run(c, v, from, t)
end,

real = function(c, x)
  if not c then return x end
  if x <= c.v and (c.pause <= c.at or c.stand == 0 or x < c.stand) then return c.at - (c.v - x) end
  if c.pause <= c.at then return C.reach(c, c.v, c.at, x) end
  local ends = C.run(c, c.v, c.at, c.pause)
  if c.stand > 0 and x >= c.stand and ends >= c.stand then return C.reach(c, math.max(c.stand, c.v), c.pause, x) end
  if ends >= x then return C.reach(c, c.v, c.at, x) end
  return C.reach(c, ends, c.pause, x)
end,

slow = function(c, t)
  local n, d = C.speed(c, t)
  return n ~= d
end,

floor = function(c, b, t)
  if t < c.pause then b = math.max(b, c.stand) end
  if c.next > b then b = c.next end
  return b
end,

-- The clock at full speed whose key's time is v.
plain = function(at, v)
  return { at = at, v = v, pause = 0, stand = 0, unit = 1, gap = 0, ends = 0, share = 0, since = 0, step = 0, next = 0 }
end,

-- The clock after the server's clock stepped back by a time: v and the brake are as before.
-- Numbers whose time is over are 0.
back = function(c, t, by)
  local k = C.plain(t, C.now(c, t + by))
  if not c then return k end
  k.unit, k.next = c.unit, c.next
  if c.pause > t + by then k.pause, k.stand = c.pause - by, c.stand end
  if c.ends > t + by then k.gap, k.ends = c.gap, c.ends - by end
  if C.share(c, t + by) < 64 then k.share, k.since, k.step = c.share, math.max(c.since - by, 0), c.step end
  return k
end,

-- In a pause v stands at the first slot booked.
standing = function(c, slot, t)
  if not c or t >= c.pause or c.stand > 0 then return c end
  local k = {}
  for name, n in pairs(c) do k[name] = n end
  k.stand = slot
  return k
end,

-- Units lie apart while v is slow, and no longer; at least one unit's time.
book = function(c, slot, cost, t)
  if cost > 0 and C.slow(c, t) then
    local ahead = cost <= 1e12 / c.unit and c.unit * cost or 1e12
    c.next = slot + math.min(ahead, math.max(C.now(c, C.lapse(c)) - slot, c.unit))
  elseif cost > 0 and c.next <= slot then
    c.next = 0
  end
end,

lapse = function(c)
  return math.max(c.pause, c.ends, c.share > 0 and c.since + (64 - c.share) * c.step or 0)
end,


load = function(text)
  local c, i = {}, 0
  for n in string.gmatch(text, '%d+') do
    i = i + 1
    c[C.names[i] or 'more'] = tonumber(n)
  end
  if i ~= 2 and i ~= #C.names then F.bad('a clock of another length') end
  for j = i + 1, #C.names do c[C.names[j]] = 0 end
  for _, name in ipairs(C.names) do
    if not c[name] or c[name] >= 9007199254740992 then F.bad('a clock out of bounds') end
  end
  if c.at == 0 or c.share > 64 or math.max(c.unit, c.gap) > 1e12 or c.step > 1e13 or (c.share > 0 and c.step < 1) or (c.gap > 0 and c.unit < 1)
    or math.max(c.pause, c.ends, c.v, c.stand, c.next) > c.at + 1e15 then
    F.bad('a clock out of bounds')
  end
  return c
end,

-- A clock at full speed is its first two numbers.
save = function(c)
  if c.pause == 0 and c.gap == 0 and c.share == 0 and c.next == 0 then return string.format('%d.%d', c.at, c.v) end
  local list = {}
  for i, name in ipairs(C.names) do list[i] = string.format('%d', c[name]) end
  return table.concat(list, '.')
end,
}
F.C = C
end
