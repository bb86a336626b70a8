-- Decides calls. request.go says what is in KEYS and ARGV and what is returned.
local now, longer = clock()
local longest, tag, mode, a, at = ARGV[2] + 0, ARGV[3] + 0, ARGV[4], 4, 0

local function number() a = a + 1 return ARGV[a] + 0 end

-- Reads the limits that calls name.
local function rules()
  local limits, logged = {}, false
  for i = 1, number() do
    local l = { spec = ARGV[a + 1], kind = sub(ARGV[a + 1], 1, 1), named = true }
    a = a + 1
    l.units_each, l.need, l.max, l.p = number(), number(), number(), number()
    if l.kind == 'g' then
      l.num, l.q, l.cw, l.cr, l.iw, l.ir, l.nw, l.nr = number(), number(), number(), number(), number(), number(), number(), number()
    elseif l.kind == 'w' then
      logged = true
    end
    limits[i] = l
  end
  return limits, logged
end

-- The key at the next place of KEYS, with its log if the call brings one.
local function key(limits, listed)
  local state, list = at + 1, nil
  if listed then list = at + 2 end
  at = list or state
  local k = load(state, list, limits, now)
  if not k.apart then open(k, limits) end
  return k
end

-- What is told of a key.
local function tell(reply, k, taken)
  local n = #reply
  if k.apart then
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = -1, 0, 0, 0
    for i = 1, 4 * #k.parts do reply[n + 4 + i] = 0 end
    return
  end
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = taken, k.real or now, k.slot or now, k.queue and 1 or 0
  if k.clock then reply[n + 4] = clock_save(k.clock) end
  n = n + 4
  for i = 1, #k.limits do
    local l = k.limits[i]
    if l.kind == 'w' then
      reply[n + 1], reply[n + 2], reply[n + 3] = (k.log.sum - l.b) % WRAP, k.log.newest, 0
    else
      reply[n + 1], reply[n + 2], reply[n + 3] = l.a, l.b, l.c
    end
    reply[n + 4] = l.slot or now
    n = n + 4
  end
end

-- Takes as many of n calls as fit now, or finds when the first would.
local function take(k, n)
  if n == 1 then return find(k, 1) <= now and 1 or 0 end
  for i = 1, #k.limits do
    local l = k.limits[i]
    if l.q and l.q * n >= LARGEST or l.units_each * n > l.max then n = l.q and l.q * n >= LARGEST and 1 or min(n, max(floor(l.max / max(l.units_each, 1)), 1)) end
  end
  if find(k, n) <= now then return n end
  if n == 1 or find(k, 1) > now then return 0 end
  local low = 1
  while n - low > 1 do
    local middle = floor((low + n) / 2)
    if find(k, middle) <= now then low = middle else n = middle end
  end
  find(k, low)
  return low
end

-- Calls of many keys, each decided by itself. What fails is left to be asked again
-- alone, with its error.
if mode == 'many' then
  local reply = { now }
  while a < #ARGV do
    local keys, listed = number(), number() == 1
    local limits = rules()
    for _ = 1, keys do
      local calls, n, before = number(), #reply, at
      local ok = pcall(function()
        local k = key(limits, listed)
        local taken = k.apart and 0 or take(k, calls)
        if taken > 0 then
          book(k, taken, 0)
          write(k, longer)
        elseif k.shifted then
          write(k, longer)
        end
        tell(reply, k, taken)
      end)
      if not ok then
        at = before + (listed and 2 or 1)
        for i = #reply, n + 1, -1 do reply[i] = nil end
        reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = -2, 0, 0, 0
        for i = 1, 4 * #limits do reply[n + 4 + i] = 0 end
      end
      for i = 1, #limits do limits[i].slot = nil end
    end
  end
  return reply
end

-- One request, all or nothing.
local keys, look, held, latest, apart = {}, mode == 'look', nil, now, false
while a < #ARGV and ARGV[a + 1] ~= 'hold' do
  local listed = number() == 1
  local k = key(rules(), listed)
  keys[#keys + 1] = k
  apart = apart or k.apart
end
if a < #ARGV then
  a, at = a + 1, at + 1
  held = { key = at, max = number(), id = ARGV[a + 1], lease = ARGV[a + 2] + 0, peek = ARGV[a + 3] == '1' }
end
local allowed, full = not look and not apart, 0
if allowed then
  for _, k in ipairs(keys) do
    local real = find(k, 1)
    for i = 1, #k.limits do
      k.counts = k.counts or not keys[2] or k.limits[i].units_each > 0
    end
    if k.counts then latest = max(latest, real) end
  end
  allowed = latest - now <= longest
end
if held and not apart and (allowed or held.peek) then
  full = lease_full(held.key, held.max, held.lease, now) or 0
  allowed = allowed and full == 0
  if full == 0 then
    redis.call('ZADD', KEYS[held.key], str(now + held.lease), held.id)
    lease_keep(held.key, now, longer)
  end
end
local reply = { now, latest, full }
for _, k in ipairs(keys) do
  local value, entry = k.value, 0
  local taken = allowed and k.counts and 1 or 0
  if not apart then
    if taken == 1 then
      later(k, latest)
      entry = k.log and k.log.n or 0
      book(k, 1, tag)
    end
    if taken == 1 or k.shifted then write(k, longer) end
  end
  tell(reply, k, taken)
  if tag > 0 then
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3] = k.queue and k.queue.tag or 0, k.queue and k.queue.seq or 0, entry
    reply[n + 4], reply[n + 5] = k.floor or now, value or ''
  end
end
return reply
