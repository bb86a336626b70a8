-- Decides all charges of one request: every limit admits its cost, or nothing
-- changes. script.go says what is in KEYS and ARGV and what is returned.
local now, longest, mode = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local test = now ~= nil
if not test then
  local t = redis.call('TIME')
  now = tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- Charges that have to leave some units: 'spare', 'spare keep' and 'spare look'.
local spare = string.sub(mode, 1, 5) == 'spare'
if spare then mode = mode == 'spare' and 'take' or string.sub(mode, 7) end

if mode == 'renew' then return renew(now, test) end

local groups, held, order = {}, nil, {}
do
  local k, a = 0, 3
  local function key() k = k + 1 return KEYS[k] end
  local function text() a = a + 1 return ARGV[a] end
  local function number() return tonumber(text()) end
  while KEYS[k + 1] and ARGV[a + 1] ~= 'hold' do
    local g = { key = key(), signature = text(), limits = {} }
    if text() == '1' then g.log = key() end
    local windows = 0
    local specs = split(g.signature, '[^,]+')
    for i = 1, number() do
      local l = { spec = specs[i], c = number(), max = number(), p = number() }
      l.alg = algorithms[string.sub(l.spec, 1, 1)]
      if l.alg == gcra then
        l.iw, l.ir, l.cw, l.cr, l.q = number(), number(), number(), number(), number()
      elseif l.alg == log then
        windows = windows + 1
        l.j = windows
      end
      g.limits[i] = l
    end
    if mode == 'settle' then
      g.slot, g.before, g.after = number(), text(), text()
      for _, l in ipairs(g.limits) do
        l.a = number()
        if l.alg == gcra then l.dw, l.dr = number(), number() end
      end
    end
    groups[#groups + 1] = g
  end
  if mode == 'brake' then
    for _, field in ipairs({ 'lift', 'pause', 'slack', 'unit', 'recovery', 'since', 'tell', 'gap', 'lasts' }) do order[field] = number() end
    order.lift, order.tell, order.channel, order.name = order.lift > 0, order.tell > 0, text(), text()
  else
    if ARGV[a + 1] == 'hold' then
      text()
      held = { key = key(), max = number(), id = text(), lease = number() }
    end
    for _, g in ipairs(spare and groups or {}) do
      for _, l in ipairs(g.limits) do
        l.need = { number(), l.iw, l.ir }
        if l.alg == gcra then l.need[2], l.need[3] = number(), number() end
      end
    end
  end
end

if mode == 'brake' then
  slow(groups[1], order, now, test)
  return 'OK'
end

if mode == 'settle' then
  for _, g in ipairs(groups) do settle(g, now, test) end
  return 'OK'
end

-- A "look" says what taking would meet, and changes as little as a "peek".
local looks = mode == 'peek' or mode == 'look'

-- Of several keys, those have a say of which something is taken. Each limit's
-- slot is what it alone would have the request wait.
local floor, slot, braked = now, now, false
for i, g in ipairs(groups) do
  open(g, now, looks)
  g.from = g.brake and brake.from(g.brake, now) or now
  braked = braked or g.brake
  local b = math.max(now, g.last, g.from)
  g.counts = not groups[2] or (held and i == 1)
  for _, l in ipairs(g.limits) do
    l.slot = now
    if l.c > 0 then g.counts = true end
    if l.c > 0 and mode ~= 'peek' then
      local c, w, r = l.c, l.iw, l.ir
      if spare then l.c, l.iw, l.ir = l.need[1], l.need[2], l.need[3] end
      local f, s = l.alg.slot(l, b, g)
      l.c, l.iw, l.ir = c, w, r
      l.slot = s
      floor, slot = math.max(floor, f), math.max(slot, s)
    end
  end
  if g.counts then floor, slot = math.max(floor, b), math.max(slot, b) end
end

local allowed = not looks and slot - now <= longest
local room
if held and (allowed or mode == 'peek') then
  room = full(held, now)
  allowed = allowed and not room
end
local reply, values = {}, {}
for _, g in ipairs(groups) do
  if allowed and g.counts then
    if g.adapted or g.shifted then g.value = write(g, now) end
    local logged, cost = false, 0
    for _, l in ipairs(g.limits) do cost = math.max(cost, l.c) end
    if g.brake then brake.book(g.brake, slot, cost) end
    for _, l in ipairs(g.limits) do logged = logged or (l.alg == log and l.c > 0) end
    for _, l in ipairs(g.limits) do
      if l.c > 0 or (l.alg == log and logged) then l.alg.book(l, floor, slot, mode == 'keep', now) end
    end
    if logged then log.append(g, slot) end
    if slot > now then g.last, g.at = floor, now elseif g.last >= now then g.at = now end
    local value = close(g, now, test)
    if mode == 'keep' then values[#values + 1], values[#values + 2] = g.value or '', value end
  else
    if repairs(g, looks) then close(g, now, test) end
    if mode == 'keep' then values[#values + 1], values[#values + 2] = '', '' end
  end
  for _, l in ipairs(g.limits) do
    local x, y, z = l.alg.view(l, g)
    reply[#reply + 1] = str(l.slot) .. ' ' .. str(x) .. ' ' .. str(y) .. ' ' .. str(z)
  end
end
if held then
  reply[#reply + 1] = str(room or 0)
  if not room and (allowed or mode == 'peek') then hold(held, now, test) end
end
if braked then
  reply[#reply + 1] = '!'
  for _, g in ipairs(groups) do
    local k = g.brake
    local t = k and { k.at, k.pause, g.from, brake.spacing(k, slot), brake.told(k, slot) } or { 0, 0, 0, 0, 0 }
    for _, n in ipairs(t) do reply[#reply + 1] = str(n) end
  end
end
local head = (allowed and '1 ' or '0 ') .. str(now) .. ' ' .. str(slot) .. ' ' .. table.concat(reply, ' ')
if uncommon then
  local list = { now, -2 }
  for n in string.gmatch(head, '%d+') do list[#list + 1] = tonumber(n) end
  return list
end
if mode ~= 'keep' or not allowed then return head end
table.insert(values, 1, head)
return values
