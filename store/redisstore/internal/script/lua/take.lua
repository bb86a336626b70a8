-- Decides calls. request.go lists KEYS and ARGV, and reply.go the reply.

-- Reads the limits of calls, after ARGV[i], and returns the place of the last one.
local function rules(i)
  local v, limits = ARGV, { true }
  i = i + 1
  for m = 1, v[i] + 0 do
    local spec, cost, more, l = v[i + 1], v[i + 2] + 0, v[i + 3] + 0, nil
    local kind = string.sub(spec, 1, 1)
    if kind == 'g' then
      l = {
        spec = spec, kind = kind, cost = cost, q = v[i + 4] + 0, cw = v[i + 5] + 0, cr = v[i + 6] + 0, iw = v[i + 7] + 0, ir = v[i + 8] + 0,
        nw = 0, nr = 0, a = 0, b = 0, grades = '', slot = 0, new = false,
      }
      i = i + 8
      if more == 0 then
        l.nw, l.nr = l.iw, l.ir
      else
        l.nw, l.nr = v[i + 1] + 0, v[i + 2] + 0
        i = i + 2
      end
    else
      l = {
        spec = spec, kind = kind, cost = cost, need = cost + more, max = v[i + 4] + 0, p = v[i + 5] + 0,
        a = 0, b = 0, c = 0, opened = 0, before = 0, slot = 0, new = false,
      }
      i = i + 5
      use(kind == 'w' and 'G' or 'W')
    end
    limits[m] = l
  end
  return limits, i
end

local function new()
  return {
    state = 0, list = false, limits = false, parts = false, born = 0, birth = false, v = 0, value = false, queue = false, clock = false, log = false,
    floor = 0, slot = 0, real = false, latest = 0, natural = false, writes = false,
  }
end

-- Appends the answer of a key to the n numbers of a reply.
local function tell(reply, n, k, taken, plain)
  if k.undecided then
    reply[n + 1] = k.undecided
    return n + 1
  end
  local limits, none = k.limits, not k.real and now
  if #k.parts > #limits then taken = taken + 1048576 end
  if plain and not k.queue and not k.clock then
    reply[n + 1], reply[n + 2] = taken, 0
    n = n + 2
  else
    plain = false
    reply[n + 1], reply[n + 2] = taken, k.clock and F.C.save(k.clock) or k.queue and 2 or 1
    reply[n + 3], reply[n + 4] = none or k.latest, none or k.slot
    n = n + 4
  end
  for i = 1, #limits do
    local l = limits[i]
    local kind = l.kind
    if kind == 'w' then
      reply[n + 1], reply[n + 2] = F.G.live(k.log, l, k.v), k.log.newest
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
      reply[n] = none or l.slot
    end
  end
  return n
end

local longest, tag, mode, a, at = ARGV[2] + 0, ARGV[3] + 0, ARGV[4], 4, 1
local many, n = mode == 'many', 1
local k, reply = many and new(), many and { now, 0, 0, 0, 0 }
local keys, held, latest, undecided = {}, nil, now, false

-- Decides calls of a key, and appends the answer. If it fails, the caller asks for the key
-- alone, to get the error.
local one = many and function(reply, n, k, left, seen)
  local taken, limits = 0, k.limits
  F.load(k, seen)
  while not k.undecided and left > 0 and F.find(k, 1) <= now do
    local fit = left > 1 and use('N').fit(k, left) or 1
    F.book(k, fit, 0)
    taken, left = taken + fit, left - fit
  end
  n = tell(reply, n, k, taken, true)
  if taken > 0 or not k.undecided and (k.shifted or k.parts ~= limits and F.O.refuse(k)) then F.write(k) end
  return n
end

while a < #ARGV and ARGV[a + 1] ~= 'hold' do
  local last, logged = ARGV[a + 1] * 2, ARGV[a + 2] == '1'
  if not many then k = new() end
  k.limits, a = rules(a + 2)
  for i = a + 1, a + last, 2 do
    k.state, k.list = at, logged and at + 1
    at = logged and at + 2 or at + 1
    if many then
      local done, ends = pcall(one, reply, n, k, ARGV[i] + 0, ARGV[i + 1])
      if not done then
        ends = n + 1
        reply[ends] = -2
      end
      n = ends
    else
      F.load(k, ARGV[i + 1])
      undecided = undecided or k.undecided
      keys[#keys + 1] = k
    end
  end
  a = a + last
end
if many then
  for i = #reply, n + 1, -1 do reply[i] = nil end
  return reply
end

-- One request, all or nothing.
if a < #ARGV then
  held = { key = at, max = ARGV[a + 2] + 0, id = ARGV[a + 3], lease = ARGV[a + 4] + 0, peek = ARGV[a + 5] == '1' }
  use('H')
end
local allowed, full = mode == 'take' and not undecided, 0
if mode ~= 'look' and not undecided then
  for _, k in ipairs(keys) do
    local real = F.find(k, 1)
    k.free = true
    for i = 1, #k.limits do k.free = k.free and k.limits[i].cost == 0 end
    if not k.free and real > latest then latest = real end
  end
  allowed = allowed and latest - now <= longest
end
if held and not undecided and (allowed or held.peek) then
  full = F.H.full(held.key, held.max, held.lease) or 0
  allowed = allowed and full == 0
  held.taken = full == 0
end
reply, n = { now, latest, full, 0, 0, 0, 0, 0, 0, 0 }, 3
for _, k in ipairs(keys) do
  local value, entry, taken = k.value, 0, allowed and not k.free and 1 or 0
  if taken == 1 then
    if latest > k.real then
      k.real = latest
      k.slot = math.max(k.slot, (k.standing and F.C.now(k.standing, latest - 1) or latest - 1) + 1)
      k.floor = math.max(k.floor, k.slot)
    end
    entry = k.log and k.log.n or -1
    F.book(k, 1, tag)
  end
  n = tell(reply, n, k, taken, false)
  k.writes = not undecided and (taken == 1 or k.shifted or (k.parts ~= k.limits and mode == 'take' and not allowed and not k.free and F.O.refuse(k)))
  if tag > 0 then
    local q = k.queue
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = q and q.tag or 0, q and q.seq or 0, entry, k.floor, value or ''
    n = n + 5
  end
end
-- All keys were read and booked without an error, so all are written, or none.
if held and held.taken then
  redis.call('ZADD', KEYS[held.key], string.format('%d', now + held.lease), held.id)
  F.H.keep(held.key)
end
for _, k in ipairs(keys) do
  if k.writes then F.write(k) end
end
for i = #reply, n + 1, -1 do reply[i] = nil end
return reply
