-- States that were lost and restored, and states from before the server's clock stepped back.
if part == 'S' and not F.S then
F.S = {
-- A state further ahead than bookings can make it means that the server's clock stepped back.
-- The key's time and its brake go on from there, so no call waits for the clock. From then
-- on the key has a clock, which shows the next step.
step_back = function(k)
  local c, v, q, back = k.clock, now, k.queue, nil
  if c then v = now < c.at and c.v - (c.at - now) or F.C.now(c, now) end
  if q then
    back = q.at - now
  else
    for i = 1, #k.parts do
      local l, n = k.parts[i], 0
      if l.kind == 'g' then n = l.a - l.cw - 1 - v
      elseif l.kind == 'w' then n = k.log and k.log.newest - v or 0
      elseif l.b > 0 then n = l.a - now end
      back = back and math.min(back, n) or n
    end
  end
  back = math.max(back or 0, (c and c.at or k.born) - now)
  if back <= 0 then return end
  k.clock = use('C').back(c, now, back)
  for i = 1, #k.parts do
    local l = k.parts[i]
    if l.kind == 'f' then l.a = math.max(l.a - back, 0)
    elseif l.kind == 'a' or l.kind == 'c' then l.a = math.min(l.a, now - now % l.p) end
  end
  if q then q.at = now end
  -- Callers that see the key from now on have lost nothing.
  if k.restored ~= 0 and (k.restored or k.born) > now then k.restored = now end
  k.shifted = true
end,

-- The birth of the state, and the restored units of each limit, so that no caller restores
-- them again: see restore. A birth of 0 stands for a reset, which has lost nothing. After a
-- step back of the server's clock, the birth is the time of that step, and the key has a
-- clock.
load_restored = function(k, value, i)
  local born, ends = string.match(value, '^(%d*)()', i)
  k.restored = born == '' and 0 or born + 0
  if born == '' then return i end
  local most = k.restored
  for j = 1, #k.parts do
    local l = k.parts[j]
    local a, b, c, next = string.match(value, '^;(%d+)%.(%d+)%.(%d+)()', ends)
    if not a or l.kind == 'g' and b + 0 >= l.q then F.bad('a restored limit that is not weir\'s') end
    l.ra, l.rb, l.rc, ends = a + 0, b + 0, c + 0, next
    most = math.max(most, l.ra, l.rb, l.rc)
  end
  if most >= 9007199254740992 or k.restored < math.max(k.clock and 0 or k.born, 1) then F.bad('a number out of bounds') end
  return ends
end,

save_restored = function(k)
  if k.restored == 0 then return '|r' end
  local text = string.format('|r%d', k.restored)
  for _, l in ipairs(k.parts) do text = string.format('%s;%d.%d.%d', text, l.ra or 0, l.rb or 0, l.rc or 0) end
  return text
end,
}
end
