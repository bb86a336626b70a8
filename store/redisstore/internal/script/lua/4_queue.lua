-- The queue of a key, see exact.Queue, and the credit of each gcra limit, see exact.Credit:
-- the number of grades, and the grades, the last one first.
if part == 'Q' and not F.Q then
local Q
Q = {
load = function(k, value, i)
  local last, first, cost, tag, seq, at, ends = string.match(value, '^(%d+)%.(%d+)%.(%d+)%.(%d+)%.(%d+)%.(%d+)()', i)
  if not last then F.bad('a queue that is not weir\'s') end
  last, first = last + 0, first + 0
  local q = { last = last, first = first, cost = cost + 0, tag = tag + 0, seq = seq + 0, at = at + 0 }
  if last >= 4503599627370496 or first >= 4503599627370496 or q.cost > 1125899906842624
    or q.tag >= 9007199254740992 or q.seq >= 9007199254740992 or q.at >= 9007199254740992 then
    F.bad('a queue out of bounds')
  end
  if last > 0 then q.last = k.born + last end
  if first > 0 then q.first = k.born + first end
  k.queue = q
  for j = 1, #k.parts do
    local l = k.parts[j]
    if l.kind == 'g' and string.byte(value, ends) == 44 then
      local i = ends + 1
      ends = string.find(value, ',', i, true) or string.find(value, '|', i, true) or #value + 1
      l.grades = string.sub(value, i, ends - 1)
      if i < ends and not string.find(l.grades, '^%d%.%d+%.%d+%.%d+%.%d+') then F.bad('a credit that is not weir\'s') end
    end
  end
  return ends
end,

-- Appends the queue to the text of a key.
save = function(k, text)
  local q, born = k.queue, k.born
  if q.tag == 0 and q.last <= k.v and not k.clock then return text end -- A clock may keep windows ahead.
  text = text .. string.format('|q%d.%d.%d.%d.%d.%d', q.last > 0 and q.last - born or 0, q.first > 0 and q.first - born or 0,
    q.cost, q.tag, q.seq, q.at)
  for i = 1, q.tag > 0 and #k.parts or 0 do
    local l = k.parts[i]
    if l.kind == 'g' then text = text .. ',' .. l.grades end
  end
  return text
end,

-- Notes a booking of n calls. A slot is ahead until the key's time reaches it.
enqueue = function(k, most, tag, n)
  local q = k.queue or { last = 0, first = 0, cost = 0, tag = 0, seq = 0 }
  k.queue, q.at = q, now
  if tag > 0 and q.tag == 0 then q.tag = tag end
  if q.tag > 0 then q.seq = q.seq + n end
  if k.slot > k.v then
    if q.last <= k.v then q.first, q.cost = k.slot, most elseif q.cost ~= most then q.cost = 0 end
    local l = k.parts[1]
    if k.parts[2] or not k.natural and (l.kind == 'g' or l.kind == 'w' or (k.slot - q.first) % l.p > 0) then q.cost = 0 end
    q.last = k.slot
  end
  return q
end,

-- Notes the backlog that this booking finds: no booking of an earlier slot can give back
-- more. A grade is the booking's number, its slot after the birth, the backlog plus one, and
-- its rest; 0 if the bucket was full for a while. Of bookings of one slot the first counts.
-- Beyond eight grades, the last one also covers bookings that find up to twice its backlog.
note = function(k, l, seq)
  local grades, w, r, slot = l.grades, l.a - k.slot + 1, l.b, k.slot - k.born
  if l.new then return end
  if w <= 0 then
    l.grades = string.format('1.%d.%d.0.0', seq, slot)
    return
  end
  local n, i, popped = 0, 1, false
  if grades ~= '' then n, i = string.byte(grades) - 48, 3 end
  while n > 0 do
    local at, from, x, y, ends = string.match(grades, '^%d+%.(%d+)%.()(%d+)%.(%d+)%.?()', i)
    if not at or #x > 16 or #y > 16 then F.bad('a credit that is not weir\'s') end
    x, y = x + 0, y + 0
    if not popped and at + 0 == slot then return end
    if x < w or x == w and y < r then
      if n == 8 and w - 1 < 2 * (x - 1) then
        l.grades = string.format('8.%d.%d.', seq, slot) .. string.sub(grades, from)
        return
      end
      break
    end
    popped, n, i = true, n - 1, ends
  end
  l.grades = string.format(n > 0 and '%d.%d.%d.%d.%d.' or '%d.%d.%d.%d.%d', n + 1, seq, slot, w, r) .. string.sub(grades, i)
  if n == 8 then use('E').merge(l) end
end,

-- Notes the booking that opened a window or added the limit. a and b are from before it.
noted = function(l, seq, a, b)
  if l.new then
    Q.begin(l, seq)
  elseif l.kind ~= 'g' and (l.a ~= a or b == 0) then
    if l.kind ~= 'c' or l.a == a then l.opened = seq
    elseif l.a == a + l.p then l.opened, l.before = seq, l.opened
    else l.opened, l.before = seq, seq end
  end
  l.new = nil
end,

-- Notes the booking that added a limit, which does not count earlier bookings.
begin = function(l, seq)
  if l.kind == 'g' then
    l.grades = string.format('1.%d.0.0.0', seq)
  elseif l.kind ~= 'w' then
    l.opened, l.before = seq, l.kind == 'c' and seq or 0
  end
end,
}
F.Q = Q
end
