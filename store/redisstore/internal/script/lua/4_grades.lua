-- The grades of the credit of a gcra limit, see the queue.
if part == 'E' and not F.E then
local E
E = {
-- The grades of a limit, the first one first.
load = function(l)
  local list, n = {}, string.match(l.grades, '^(%d+)')
  n = (n or 0) + 0
  for s, at, w, r in string.gmatch(string.match(l.grades, '^%d+%.(.*)') or '', '(%d+)%.(%d+)%.(%d+)%.(%d+)') do
    if n < 1 then break end
    list[n] = { s + 0, at + 0, w + 0, r + 0 }
    n = n - 1
  end
  if n > 0 then F.bad('a credit that is not weir\'s') end
  return list
end,

save = function(l, list)
  local n = #list
  local text = { n }
  for i = n, 1, -1 do
    local e = list[i]
    text[n - i + 2] = string.format('%d.%d.%d.%d', e[1], e[2], e[3], e[4])
  end
  l.grades = n > 0 and table.concat(text, '.') or ''
end,

-- Merges two neighbours, with the smaller backlog.
merge = function(l)
  local list = E.load(l)
  local least = list[1][3] == 0 and 2 or 1 -- Later bookings have not lapsed.
  for i = least + 1, #list - 1 do
    if list[i + 1][3] - list[i][3] < list[least + 1][3] - list[least][3] then least = i end
  end
  list[least + 1][3], list[least + 1][4] = list[least][3], list[least][4]
  table.remove(list, least)
  E.save(l, list)
end,
}
F.E = E
end
