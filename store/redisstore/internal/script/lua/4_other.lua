others = function()
if O then return end
numbers()
O = {
load_queue = function(k, text)
  local last, first, cost, tag, seq, at, i = string.match(text, '^(%d+)%.(%d+)%.(%d+)%.(%d+)%.(%d+)%.(%d+)()')
  if not last or i > 102 then F.rubbish('a queue that is not weir\'s') end
  local q = { last = last + 0, first = first + 0, cost = cost + 0, tag = tag + 0, seq = seq + 0, at = at + 0 }
  if math.max(q.last, q.first) >= 4503599627370496 or math.max(q.tag, q.seq, q.at) >= 9007199254740992 or q.cost > 1125899906842624 then F.rubbish('a queue out of bounds') end
  if q.last > 0 then q.last = k.born + q.last end
  if q.first > 0 then q.first = k.born + q.first end
  k.queue = q
  for _, l in ipairs(k.parts) do
    if l.kind == 'g' then
      local grades, ends = string.match(text, '^,([%d.]*)()', i)
      i = ends or i
      if grades and grades ~= '' then
        local _, dots = string.gsub(grades, '%.', '')
        if dots % 4 ~= 3 or string.find(grades, '%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d') then F.rubbish('a credit that is not weir\'s') end
        l.grades = grades
      end
    end
  end
  if i <= #text then F.rubbish('a queue that is not weir\'s') end
end,

load_log = function(k, text)
  logs()
  local g, i = G.new(k, k.list), 0
  for n in string.gmatch(text, '%d+') do
    i = i + 1
    g[G.names[i] or 'other'] = tonumber(n)
  end
  if i ~= #G.names then F.rubbish('a log of another length') end
  for _, name in ipairs(G.names) do
    if not g[name] or g[name] >= 9007199254740992 then F.rubbish('a log out of bounds') end
  end
  if g.first > g.n or g.newest >= 4503599627370496 then F.rubbish('a log out of bounds') end
  g.newest = g.n > g.first and k.born + g.newest or 0
  k.log = g
end,

-- Reads the optional parts behind the birth.
load_rest = function(k, value, i)
  if k.born >= 4503599627370496 then F.rubbish('a birth out of bounds') end
  local seen = {}
  while i <= #value do
    local kind, text, ends = string.match(value, '^|(%a)([%d.,]*)()', i)
    if not kind or seen[kind] or (kind ~= 'q' and string.find(text, ',', 1, true)) then F.rubbish('an unknown part') end
    seen[kind], i = true, ends
    if kind == 'q' then O.load_queue(k, text)
    elseif kind == 'c' then
      clocks()
      k.clock = C.load(text)
    elseif kind == 'l' then O.load_log(k, text)
    else F.rubbish('an unknown part') end
  end
end,

-- Reads a value whose limits are not just those that the call names, in their order.
load_other = function(k, value, limits)
  local list, born, i = string.match(value, '^1([^|]*)|(%d+)()')
  if not list or #born > 16 then
    F.rubbish(string.match(value, '^[02-9]') and 'a value of another version' or 'a value that is not weir\'s')
  end
  numbers()
  k.born, k.parts = born + 0, {}
  local at, seen = 1, {}
  while at <= #list do
    local spec, text, left, ends = string.match(list, '^([^;=]+)=([%d.]+)~?(%d*)()', at)
    if not spec or seen[spec] or #left > 16 or (ends <= #list and string.byte(list, ends) ~= 59) then F.rubbish('a limit without its numbers') end
    local l
    left = left ~= '' and tonumber(left) or 0
    for _, own in ipairs(limits) do
      if own.spec == spec then l = own end
    end
    if not l or left > 0 and left <= now then l = N.rule(spec) end
    if F.load_part(l, text, 1) <= #text then F.rubbish('a limit without its numbers') end
    if l.kind == 'g' then l.a = l.a + k.born end
    l.left = left
    k.parts[#k.parts + 1] = l
    if #k.parts > 64 then F.rubbish('too many limits') end
    seen[spec], at = true, ends + 1
  end
  O.load_rest(k, value, i)
  local left = {}
  for _, l in ipairs(k.parts) do
    if l.left == 0 or l.left > now or k.past then left[#left + 1] = l end
  end
  k.parts = left
end,

-- The parts of a value behind the birth.
save_rest = function(k)
  local text, q, g = '', k.queue, k.log
  if q and (q.tag > 0 or q.last > k.v) then
    text = string.format('|q%.0f.%.0f.%.0f.%.0f.%.0f.%.0f', q.last > 0 and q.last - k.born or 0, q.first > 0 and q.first - k.born or 0,
      q.cost, q.tag, q.seq, q.at)
    for _, l in ipairs(k.parts) do
      if l.kind == 'g' and q.tag > 0 then text = text .. ',' .. (l.grades or '') end
    end
  end
  if k.clock then text = text .. '|c' .. C.save(k.clock) end
  if g then
    text = string.format('%s|l%.0f.%.0f.%.0f.%.0f.%.0f.%.0f.%.0f', text, g.first, g.n, g.newest > 0 and g.newest - k.born or 0, g.sum, g.gone, g.start, g.tail)
  end
  return text
end,

-- A state that is further ahead than bookings can make it means that the server's clock
-- stepped back. The key's time goes on from where it was, and so does a brake: no call waits
-- for the clock. From then on the key has a clock, which tells of the next step.
step_back = function(k)
  local v, q, back = k.clock and C.now(k.clock, now) or now, k.queue, nil
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
  back = math.max(back or 0, (k.clock and k.clock.at or k.born) - now)
  if back <= 0 then return end
  clocks()
  k.clock = C.back(k.clock, now, back)
  for i = 1, #k.parts do
    local l = k.parts[i]
    if l.kind == 'f' then l.a = math.max(l.a - back, 0)
    elseif l.kind == 'a' or l.kind == 'c' then l.a = math.min(l.a, F.align(now, l.p)) end
  end
  if q then q.at = now end
  k.shifted = true
end,

-- Makes the parts of a key those of the call, and what others there are.
open = function(k, limits)
  numbers()
  O.step_back(k)
  k.v = k.clock and C.now(k.clock, now) or now
  k.before = k.clock and k.clock.next or 0
  if k.shifted then k.value = F.save(k) end -- A booking that is undone leaves this.
  local g, logged = k.log, false
  for _, l in ipairs(g and k.parts or {}) do
    if l.kind == 'w' then
      logged = true
      G.expire(g, l, k.v)
    end
  end
  if g and not logged then G.clear(g) end
  k.had = #k.parts
  if k.parts == limits then return end
  for _, l in ipairs(limits) do l.known = false end
  for _, l in ipairs(k.parts) do l.known = true end
  local new = {}
  for _, l in ipairs(limits) do
    if not l.known then
      O.adopt(k, l)
      l.new = true
      new[#new + 1] = l
    end
  end
  for _, l in ipairs(new) do
    k.parts[#k.parts + 1] = l
    if l.kind == 'w' then G.expire(k.log, l, k.v) end
  end
end,

-- How many units of a limit, but a sliding window, are used at an instant; of a
-- window with a beginning by the server's time, else by the key's.
used = function(l, at)
  local units = at < l.a + l.p and l.b or 0
  if l.b == 0 and at < l.a then units = l.max end
  if l.kind == 'g' then
    local ahead = l.a + (l.b > 0 and 1 or 0) - at
    units = ahead > l.cw and l.max or ahead > 0 and N.muldiv_up(ahead, l.q, l.num) or 0
  elseif l.kind == 'c' then
    local start, cur, prev = N.counter_roll(l, at)
    units = cur + N.muldiv_up(prev, l.p - math.max(at - start, 0), l.p)
  end
  return math.min(units, l.max)
end,

-- Adds a limit that the key does not know. It takes the place of the limit with the nearest
-- period among those that this call leaves out, each of which gives its place once, and
-- begins with the share of that limit which is used.
adopt = function(k, l)
  local v = math.max(k.v, k.queue and k.queue.last or 0)
  local at = k.clock and math.max(now, C.real(k.clock, v)) or v
  local n, d, best = 0, 1, nil
  for _, o in ipairs(k.parts) do
    if not o.named and not o.taken and (not best
      or N.product_less(math.max(l.p, o.p), math.min(l.p, best.p), math.min(l.p, o.p), math.max(l.p, best.p))) then
      best = o
    end
  end
  if best then
    best.taken, d = true, best.max
    if best.kind == 'w' then
      local _, before = G.expired(k.log, best, v)
      n = math.min((k.log.sum - before) % 4503599627370496, best.max)
    else
      n = O.used(best, best.kind == 'g' and v or at)
    end
  end
  l.a, l.b, l.c, l.opened, l.before, l.left, l.grades = 0, 0, 0, 0, 0, 0, nil
  local units = n > 0 and N.muldiv_up(n, l.max, d) or 0
  if l.kind == 'g' then
    l.a = v
    if units > 0 then F.gcra_book(l, v, N.span(l, units)) end
  elseif l.kind == 'w' then
    logs()
    local g = k.log or G.new(k, k.list)
    k.log, l.a = g, g.begun_at or g.n
    for _, o in ipairs(k.parts) do
      if o.kind == 'w' and o.a < l.a then l.a = o.a end
    end
    l.b = G.sum(g, l.a)
    local begun = g.begun and (g.sum - g.begun) % 4503599627370496 or 0
    if (g.n == g.first or g.begun) and units > begun then
      if g.begun then g.n, g.sum = g.n - 1, g.begun end
      g.begun, g.begun_at = g.sum, g.n
      G.push(g, v, units)
    end
  else
    l.a = l.kind == 'f' and at or F.align(at, l.p)
    if units > 0 then
      if l.kind == 'c' then N.counter_book(l, at, units) else F.window_book(l, at, units) end
    end
  end
end,

-- Drops limits that the call leaves out, when they have lapsed or are too many. The first
-- ones go first. A booking resets the time of the limits that it names.
forget = function(k, booked)
  local left, over = {}, -8
  for _, l in ipairs(k.parts) do
    if not l.named then
      over = over + 1
      if l.left == 0 then
        local at = F.lapse(l, k.log and k.log.newest or 0)
        if k.clock and (l.kind == 'g' or l.kind == 'w') then at = C.real(k.clock, at) end
        l.left = at
      end
    elseif booked then
      l.left = 0
    end
  end
  for _, l in ipairs(k.parts) do
    if l.named or (l.left > now and over <= 0) then left[#left + 1] = l end
    if not l.named then over = over - 1 end
  end
  k.parts = left
end,

-- A refused call keeps the limits that are new to the key, with the share that is used:
-- they recover at their own rate. It reports whether the key has changed.
refuse = function(k)
  local kept, q = false, k.queue
  if k.had == 0 then return false end
  for _, l in ipairs(k.parts) do
    if l.new then
      if q and q.tag > 0 and not kept then q.seq = q.seq + 1 end
      if q and q.tag > 0 then O.begin(l, q.seq) end
      kept, l.new = true, nil
    end
  end
  if kept then O.forget(k, false) end
  return kept
end,

-- Notes the booking that added a limit: those before it are not counted.
begin = function(l, seq)
  if l.kind == 'g' then
    l.grades = string.format('%.0f.0.0.0', seq)
  elseif l.kind ~= 'w' then
    l.opened, l.before = seq, l.kind == 'c' and seq or 0
  end
end,

-- Keeps the numbers of a limit in bounds, however much it counts beyond what it admits.
bound = function(k, l)
  local most = k.v + (l.cw or 0) + 394200000000000
  if l.kind ~= 'g' then
    l.b = math.min(l.b, 2251799813685248)
  elseif l.a > most then
    l.a, l.b = most, 0
  end
end,

-- Notes a booking of n calls. Slots are ahead when the key's time has not come to them.
enqueue = function(k, most, tag, n)
  local q = k.queue or { last = 0, first = 0, cost = 0, tag = 0, seq = 0 }
  k.queue, q.at = q, now
  if tag > 0 and q.tag == 0 then q.tag = tag end
  if q.tag > 0 then q.seq = q.seq + n end
  if k.slot > k.v then
    if q.last <= k.v then q.first, q.cost = k.slot, most elseif q.cost ~= most then q.cost = 0 end
    if k.parts[2] or not k.natural then q.cost = 0 end
    if q.first > k.v then q.first = math.min(q.first, k.slot) end
    q.last = k.floor
  end
  return q
end,

-- Notes the backlog that a booking is about to find: no booking of an earlier slot can
-- give back more. A grade is the booking's number, its slot after the birth, the backlog
-- and one more, and its rest; 0 where the bucket was full for a while. The first booking
-- of a slot speaks for all.
note = function(k, l, seq)
  l.was, l.held = l.a, l.b
  if l.kind ~= 'g' or l.new then return end
  local w, r, slot = l.a - k.slot + 1, l.b, k.slot - k.born
  if w <= 0 then
    l.grades = string.format('%.0f.%.0f.0.0', seq, slot)
  elseif l.grades and string.match(l.grades, '(%d+)%.%d+%.%d+$') == F.str(slot) then
    return
  else
    local list = O.grades(l.grades)
    O.grade_add(list, { seq, slot, w, r })
    if #list > 8 then
      local least = list[1][3] == 0 and 2 or 1 -- Later bookings have not lapsed.
      for i = least + 1, #list - 1 do
        if list[i + 1][3] - list[i][3] < list[least + 1][3] - list[least][3] then least = i end
      end
      list[least + 1][3], list[least + 1][4] = list[least][3], list[least][4]
      table.remove(list, least)
    end
    O.set_grades(l, list)
  end
end,

-- Notes which booking opened a window, or added the limit.
noted = function(k, l)
  local seq = k.queue.seq
  if l.new then
    O.begin(l, seq)
  elseif l.kind ~= 'g' and (l.a ~= l.was or l.held == 0) then
    if l.kind ~= 'c' or l.a == l.was then l.opened = seq
    elseif l.a == l.was + l.p then l.opened, l.before = seq, l.opened
    else l.opened, l.before = seq, seq end
  end
  l.new = nil
end,

grades = function(text)
  local list = {}
  for s, at, w, r in string.gmatch(text or '', '(%d+)%.(%d+)%.(%d+)%.(%d+)') do list[#list + 1] = { tonumber(s), tonumber(at), tonumber(w), tonumber(r) } end
  return list
end,

set_grades = function(l, list)
  for i, e in ipairs(list) do list[i] = string.format('%.0f.%.0f.%.0f.%.0f', e[1], e[2], e[3], e[4]) end
  l.grades = list[1] and table.concat(list, '.') or nil
end,

-- Appends a grade in place of those with as much slack or more.
grade_add = function(list, e)
  local n = #list
  while n > 0 and (list[n][3] > e[3] or (list[n][3] == e[3] and list[n][4] >= e[4])) do
    list[n] = nil
    n = n - 1
  end
  list[n + 1] = e
end,
}
end
