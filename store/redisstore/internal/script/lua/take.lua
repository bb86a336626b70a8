-- Decides calls. request.go says what is in KEYS and ARGV and what is returned.
local longest, tag, mode, a, at = ARGV[2] + 0, ARGV[3] + 0, ARGV[4], 4, 0

-- Reads the limits that calls name.
local function rules()
  local limits, logged, v = {}, false, ARGV
  local n = v[a + 1] + 0
  a = a + 1
  for i = 1, n do
    local spec = v[a + 1]
    local kind, l = string.sub(spec, 1, 1), nil
    if kind == 'g' then
      l = {
        spec = spec, kind = kind, named = true, cost = v[a + 2] + 0, need = v[a + 3] + 0, max = v[a + 4] + 0, p = v[a + 5] + 0,
        a = 0, b = 0, c = 0, opened = 0, before = 0, slot = 0, left = 0, new = false, grades = '', num = v[a + 6] + 0, q = v[a + 7] + 0,
        cw = v[a + 8] + 0, cr = v[a + 9] + 0, iw = v[a + 10] + 0, ir = v[a + 11] + 0, nw = v[a + 12] + 0, nr = v[a + 13] + 0,
      }
      a = a + 13
    else
      l = {
        spec = spec, kind = kind, named = true, cost = v[a + 2] + 0, need = v[a + 3] + 0, max = v[a + 4] + 0, p = v[a + 5] + 0,
        a = 0, b = 0, c = 0, opened = 0, before = 0, slot = 0, left = 0, new = false, grades = '',
      }
      a = a + 5
    end
    if kind == 'c' then
      numbers()
    elseif kind == 'w' then
      logs()
      logged = true
    end
    -- A limit that is named twice counts the larger cost, once.
    for j = 1, i - 1 do
      local o = limits[j]
      if o.spec == spec then
        if l.cost > o.cost then o.cost, o.iw, o.ir = l.cost, l.iw, l.ir end
        if l.need > o.need then o.need, o.nw, o.nr = l.need, l.nw, l.nr end
        l, limits.twice = o, true
      end
    end
    limits[i] = l
  end
  return limits, logged
end

-- A key, with the next places of KEYS.
local function key(k, limits, listed)
  local state = at + 1
  at = listed and at + 2 or state
  return F.load(k, state, listed and at or false, limits)
end

local function new()
  return {
    state = 0, list = 0, limits = false, parts = false, born = 0, birth = false, v = 0, value = false, queue = false, clock = false, log = false,
    floor = 0, slot = 0, real = false, latest = 0, standing = false,
  }
end

-- What is told of a key.
local function tell(reply, n, k, taken, plain)
  local limits = k.limits
  if k.apart then
    for j = #reply, n + 2, -1 do reply[j] = nil end
    reply[n + 1] = -1
    return n + 1
  end
  if plain and not k.queue and not k.clock then
    reply[n + 1], reply[n + 2] = taken, 0
    n = n + 2
  else
    plain = false
    reply[n + 1], reply[n + 2] = taken, k.clock and C.told(k.clock, k.before) or k.queue and 2 or 1
    reply[n + 3], reply[n + 4] = k.real and k.latest or now, k.real and k.slot or now
    n = n + 4
  end
  for i = 1, #limits do
    local l = limits[i]
    local kind = l.kind
    if kind == 'w' then
      reply[n + 1], reply[n + 2] = G.live(k.log, l, k.v), k.log.newest
    else
      reply[n + 1], reply[n + 2] = l.a, l.b
      if kind == 'c' then
        n = n + 1
        reply[n + 2] = l.c
      end
    end
    n = n + 2
    if not plain or kind == 'w' then
      n = n + 1
      reply[n] = k.real and l.slot or now
    end
  end
  return n
end

-- How many of n calls fit now, or fewer where numbers are large; the slot is that of the
-- first where none does.
local function fit(k, n)
  if n == 1 then return F.find(k, 1) <= now and 1 or 0 end
  numbers()
  for i = 1, #k.limits do
    local l = k.limits[i]
    if l.cost > 0 and l.cost * (n - 1) + l.need > l.max then n = math.floor((l.max - l.need) / l.cost) + 1 end
    if l.q and l.q * n >= 9007199254740992 then n = 1 end
  end
  if F.find(k, n) <= now then return n end
  if n == 1 or F.find(k, 1) > now then return 0 end
  local low = 1
  while n - low > 1 do
    local middle = math.floor((low + n) / 2)
    if F.find(k, middle) <= now then low = middle else n = middle end
  end
  F.find(k, low)
  return low
end

-- Calls of many keys, each decided by itself. What fails is left to be asked again
-- alone, with its error.
if mode == 'many' then
  local reply, k, limits, listed, calls = { now }, new(), nil, false, 0
  local function one()
    key(k, limits, listed)
    local taken, n = 0, k.apart and 0 or fit(k, calls)
    while n > 0 do
      F.book(k, n, 0)
      taken = taken + n
      n = taken < calls and fit(k, calls - taken) or 0 -- finds the slot of the calls that are refused
    end
    tell(reply, #reply, k, taken, true)
    if taken > 0 or k.shifted or (k.parts ~= limits and not k.apart and O.refuse(k)) then F.write(k) end
  end
  while a < #ARGV do
    local keys = ARGV[a + 1] + 0
    listed, a = ARGV[a + 2] == '1', a + 2
    limits = rules()
    for i = 1, keys do
      local n, before = #reply, at
      a = a + 1
      calls = ARGV[a] + 0
      if not pcall(one) then
        at = before + (listed and 2 or 1)
        for j = #reply, n + 1, -1 do reply[j] = nil end
        reply[n + 1] = -2
      end
    end
  end
  return reply
end

-- One request, all or nothing.
local keys, look, held, latest, apart = {}, mode == 'look', nil, now, false
while a < #ARGV and ARGV[a + 1] ~= 'hold' do
  local listed = ARGV[a + 1] == '1'
  a = a + 1
  local k = key(new(), rules(), listed)
  keys[#keys + 1] = k
  apart = apart or k.apart
end
if a < #ARGV then
  at = at + 1
  held = { key = at, max = ARGV[a + 2] + 0, id = ARGV[a + 3], lease = ARGV[a + 4] + 0, peek = ARGV[a + 5] == '1' }
  leases()
end
local allowed, full = mode == 'take' and not apart, 0
if not look and not apart then
  for _, k in ipairs(keys) do
    local real = F.find(k, 1)
    if keys[2] then
      k.free = true
      for i = 1, #k.limits do k.free = k.free and k.limits[i].cost == 0 end
    end
    if not k.free and real > latest then latest = real end
  end
  allowed = allowed and latest - now <= longest
end
if held and not apart and (allowed or held.peek) then
  full = H.full(held.key, held.max, held.lease) or 0
  allowed = allowed and full == 0
  if full == 0 then
    redis.call('ZADD', KEYS[held.key], F.str(now + held.lease), held.id)
    H.keep(held.key)
  end
end
local reply, n = { now, latest, full, 0, 0, 0, 0, 0, 0, 0 }, 3
for _, k in ipairs(keys) do
  local value, entry, taken = k.value, 0, allowed and not k.free and 1 or 0
  if taken == 1 then
    F.later(k, latest)
    entry = k.log and k.log.n or -1
    F.book(k, 1, tag)
  end
  n = tell(reply, n, k, taken, false)
  if not apart and (taken == 1 or k.shifted or (k.parts ~= k.limits and mode == 'take' and not allowed and not k.free and O.refuse(k))) then F.write(k) end
  if tag > 0 then
    local q = k.queue
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = q and q.tag or 0, q and q.seq or 0, entry, k.floor, value or ''
    n = n + 5
  end
end
return reply
