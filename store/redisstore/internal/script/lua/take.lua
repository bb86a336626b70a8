-- Decides a request, all or nothing, or restores a key. request.go lists KEYS and ARGV, and
-- reply.go the reply. Both are one script: a server that knows take knows restore, too.
if ARGV[2] == 'restore' then return use('R')() end
use('K')
local longest, tag, mode, a, at = ARGV[2] + 0, ARGV[3] + 0, ARGV[4], 4, 1
local keys, held, latest, undecided = {}, nil, now, false

while a < #ARGV and ARGV[a + 1] ~= 'hold' do
  local k, logged = F.new(), ARGV[a + 1] == '1'
  k.limits, a = rules(a + 1)
  k.state, k.list = at, logged and at + 1
  at = logged and at + 2 or at + 1
  F.load(k, ARGV[a + 1])
  undecided = undecided or k.undecided
  keys[#keys + 1] = k
  a = a + 1
end
if a < #ARGV then
  held = { key = at, max = ARGV[a + 2] + 0, id = ARGV[a + 3], lease = ARGV[a + 4] + 0, peek = ARGV[a + 5] == '1', next = ARGV[a + 6] == '1' }
  use('H')
end
local allowed, full = mode == 'take' and not undecided, 0
if mode ~= 'look' and not undecided then
  for _, k in ipairs(keys) do
    local real = F.find(k, 1)
    k.free = true
    for _, l in ipairs(k.limits) do k.free = k.free and l.cost == 0 end
    if not k.free and real > latest then latest = real end
  end
  allowed = allowed and latest - now <= longest
end
if held and not undecided and (allowed or held.peek) then
  full = F.H.full(held) or 0
  allowed = allowed and full == 0
  held.taken = full == 0
end
local reply, n = { now, latest, full }, 3
for _, k in ipairs(keys) do
  local entry, taken = 0, allowed and not k.free and 1 or 0
  if taken == 1 then
    if latest > k.real then
      k.real, k.natural = latest, false
      k.slot = math.max(k.slot, (k.standing and F.C.now(k.standing, latest - 1) or latest - 1) + 1)
      k.floor = math.max(k.floor, k.slot)
    end
    entry = k.log and k.log.n or -1
    F.book(k, 1, tag)
  end
  n = F.tell(reply, n, k, taken, false)
  k.writes = not undecided and (taken == 1 or k.shifted or (k.parts ~= k.limits and mode == 'take' and not allowed and full == 0 and not k.free and F.O.refuse(k)))
  if tag > 0 then
    n = F.receipt(reply, n, k, entry, k.floor, k.value)
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
return reply
