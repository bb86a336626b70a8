-- Decides all charges of one request: every limit admits its cost, or nothing
-- changes. script.go says what is in KEYS and ARGV and what is returned.
local now, longest, mode = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local test = now ~= nil
if not test then
  local t = redis.call('TIME')
  now = tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- Charges that have to leave some units: 'spare', 'spare keep', 'spare look' and
-- 'spare calls'.
local spare = string.sub(mode, 1, 5) == 'spare'
if spare then mode = mode == 'spare' and 'take' or string.sub(mode, 7) end

-- Several calls of one key that ask for the same, now or not at all.
local calls = mode == 'calls' and longest or 1
if mode == 'calls' then longest = 0 end

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
      l.one, l.alg = { l.c, 0, 0 }, algorithms[string.sub(l.spec, 1, 1)]
      if l.alg == gcra then
        l.iw, l.ir, l.cw, l.cr, l.q = number(), number(), number(), number(), number()
        l.one = { l.c, l.iw, l.ir }
      elseif l.alg == log then
        windows = windows + 1
        l.j = windows
      end
      l.last = l.one
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
        l.last = { number(), 0, 0 }
        if l.alg == gcra then l.last[2], l.last[3] = number(), number() end
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

-- Of several keys, those have a say of which something is taken.
local braked = false
for i, g in ipairs(groups) do
  open(g, now, looks)
  g.from = g.brake and brake.from(g.brake, now) or now
  braked = braked or g.brake
  g.counts = not groups[2] or (held and i == 1)
  for _, l in ipairs(g.limits) do
    if l.c > 0 then g.counts = true end
  end
end

-- What n calls take of a limit: its units, and of a bucket the time of them (w and
-- r/q). The last of them takes another sum, or for a while leaves units.
local function sum(l, n, last)
  l.c = l.one[1] * (n - 1) + last[1]
  if l.q then
    local w, r = l.one[2] * (n - 1) + last[2], l.one[3] * (n - 1) + last[3]
    local rest = math.fmod(r, l.q)
    l.iw, l.ir = w + (r - rest) / l.q, rest
  end
end

-- Finds the slot at which n calls are admitted together. Each limit's is what it
-- alone would have the last of them wait.
local floor, slot
local function find(n)
  floor, slot = now, now
  for _, g in ipairs(groups) do
    local b = math.max(now, g.stop, g.from)
    for _, l in ipairs(g.limits) do
      l.slot = now
      if l.one[1] > 0 and mode ~= 'peek' then
        sum(l, n, l.last)
        local f, s = l.alg.slot(l, b, g)
        sum(l, n, l.one)
        l.slot = s
        floor, slot = math.max(floor, f), math.max(slot, s)
      end
    end
    if g.counts then floor, slot = math.max(floor, b), math.max(slot, b) end
  end
end

-- As many of the calls as are admitted now; the others are refused. Under a brake,
-- and of numbers too large to be multiplied, the first is told of its decision
-- alone.
local told, all = calls, calls
for _, l in ipairs(calls > 1 and groups[1].limits or {}) do
  if l.one[1] > 0 then calls = math.min(calls, math.floor((l.max - l.last[1]) / l.one[1]) + 1) end
  if braked or (l.q and calls * l.q >= 9007199254740992) then told = 1 end
end
calls = math.min(calls, told)
find(calls)
if slot > now and calls > 1 then
  local none = calls
  calls = 0
  while none - calls > 1 do
    local n = math.floor((calls + none) / 2)
    find(n)
    if slot > now then none = n else calls = n end
  end
  find(math.max(calls, 1))
end

local allowed = not looks and slot - now <= longest
local room
if held and (allowed or mode == 'peek') then
  room = full(held, now)
  allowed = allowed and not room
end
if not allowed then calls, told = 0, all end
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
    if slot > now then ahead.book(g, floor, slot, now) elseif g.last >= now then g.at = now end
    local value = close(g, now, test)
    if mode == 'keep' then values[#values + 1], values[#values + 2] = g.value or '', value end
  else
    if repairs(g, looks) then close(g, now, test) end
    if mode == 'keep' then values[#values + 1], values[#values + 2] = '', '' end
  end
end
if mode == 'calls' and calls > 0 and calls < told then find(1) end
for _, g in ipairs(groups) do
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
local head = str(now) .. ' ' .. str(slot) .. ' ' .. table.concat(reply, ' ')
if mode == 'calls' then
  -- Whether those refused can't be admitted earlier, whatever is given back.
  local g = groups[1]
  local firm = calls < told and not braked and g.last < now
  for _, l in ipairs(g.limits) do firm = firm and l.alg ~= log and not l.credit and not l.since end
  local list = { now, firm and -3 or -2, told, calls }
  for n in string.gmatch(head, '%d+') do list[#list + 1] = tonumber(n) end
  return list
end
head = (allowed and '1 ' or '0 ') .. head
if mode ~= 'keep' or not allowed then return head end
table.insert(values, 1, head)
return values
