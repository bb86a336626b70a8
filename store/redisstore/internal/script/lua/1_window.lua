-- Windows with a beginning: a is the start of the last one, b its units. Of a sliding counter
-- c is the units of the window before. An aligned window or a counter starts at a multiple of
-- its length, counted from the epoch.
if part == 'W' and not F.W then
local W
W = {
window_slot = function(l, at, units)
  if at < l.a then at = l.a end
  if l.b + units > l.max and at < l.a + l.p then at = l.a + l.p end
  return at
end,

window_book = function(l, at, units)
  if l.b == 0 and at > l.a or at >= l.a + l.p then
    l.a, l.b = l.kind == 'a' and at - at % l.p or at, 0
  end
  l.b = l.b + units
end,

counter_roll = function(l, t)
  if t < l.a + l.p then return l.a, l.b, l.c end
  if t < l.a + 2 * l.p then return l.a + l.p, 0, l.b end
  return t - t % l.p, 0, 0
end,

counter_slot = function(l, at, units)
  local start, cur, prev = W.counter_roll(l, at)
  at = math.max(at, start)
  local room = l.max - cur - units
  if room < 0 then
    start, prev, room = start + l.p, cur, l.max - units
    at = start
  end
  if prev > room then
    use('N')
    if F.N.product_less(room, l.p, prev, l.p - (at - start)) then at = start + l.p - F.N.muldiv(room, l.p, prev) end
  end
  return at
end,

counter_book = function(l, at, units)
  l.a, l.b, l.c = W.counter_roll(l, at)
  l.b = l.b + units
end,
}
F.W = W
end
