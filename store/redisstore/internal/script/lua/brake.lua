-- Sets, changes or lifts a key's brake, and publishes its clock.
--
--   KEYS  state, log
--   ARGV  clock, lift, pause, slack, cut, recovery, since, tell, gap, its time, unit, channel,
--         name
local function number(i) return ARGV[i] + 0 end
local lift, pause, slack, cut, recovery, since = number(2) > 0, number(3), number(4), number(5) > 0, number(6), number(7)
local tell, gap, lasts, unit = number(8) > 0, math.min(number(9), 1e12), number(10), number(11)
use('K')
use('C')
local k = F.load({ state = 1, list = 2, limits = {} })
k.limits, k.parts, k.keeps = k.parts, not k.value and {} or k.parts, true
local old, v = k.clock, k.v

-- The first slot ahead, or a lower bound; 0: none is ahead.
local function first()
  local q, g, logged = k.queue, k.log, k.log
  for _, l in ipairs(k.parts) do logged = logged and l.kind == 'w' end -- Others may have slots without units of the log.
  if old and now < old.pause and old.stand > 0 then return math.max(old.stand, v) end
  if not q or q.last <= v then return 0 end
  if logged and not k.restored then -- Other callers may have slots that the log does not know.
    local i = F.G.search(g, g.first, function(i) return F.G.entry(g, i)[1] > v end)
    while i < g.n - 1 and F.G.sum(g, i) == F.G.sum(g, i + 1) do i = i + 1 end
    return i < g.n and F.G.entry(g, i)[1] or v
  end
  if q.first > v then return q.first end
  local l = k.parts[1]
  if q.cost > 0 and l and not k.parts[2] and l.kind ~= 'w' then
    local step, den = l.p, 1
    if l.kind == 'g' then step, den = q.cost * l.num, l.q end
    if step >= 4503599627370496 then return v end
    local n = F.N.muldiv(v - q.first, den, step)
    return math.max(q.first + F.N.muldiv(n + 1, step, den), v)
  end
  return v
end

-- The clock from now on, without numbers whose time is over.
local c, ahead, changed = F.C.back(old, now, 0), first(), false
if c.next <= v then c.next = 0 end
if lift then
  changed = c.pause > 0 or c.gap > 0 or c.share > 0
  c = F.C.plain(now, v)
else
  if pause > 0 and now + pause > c.pause then
    if c.pause == 0 then c.stand = ahead end
    c.pause, changed = now + pause + slack, true
  end
  local share = F.C.share(c, now)
  if cut and (share == 64 or c.since < since) then
    c.share, c.since, c.step, changed = math.max(math.floor(share / 2), 1), now, math.max(math.floor(recovery / 64), 1), true
  end
  if tell then
    local ends = now + lasts
    if gap == 0 or ends == now then gap, ends = 0, 0 end
    changed = changed or gap ~= c.gap or ends ~= c.ends
    c.gap, c.ends = gap, ends
  end
  c.unit = (tell or c.gap == 0) and unit or math.max(c.unit, unit)
  -- No unit comes closer to the one before than without the brake.
  if ahead == 0 and c.next > v then c.next = math.max(c.next, F.C.now(c, F.C.real(old, c.next))) end
end
if not changed then
  if k.shifted then F.write(k) end
  return 0
end

-- Windows ahead move with the clock, see exact.Move.
local function moved(l)
  if l.a <= now or ahead == 0 then return l.a end
  if l.kind == 'f' then
    local from = F.C.real(old, ahead)
    local by = math.max(F.C.real(c, ahead) - from, math.min(now + l.p - from, 0))
    return math.max(F.C.real(c, F.C.now(old, l.a)), l.a + by)
  end
  local function align(t) return t - t % l.p end
  local from = align(math.max(F.C.real(old, ahead - 1) + 1, old and old.pause or 0))
  return l.a + math.max(align(F.C.real(c, ahead)) - from, math.min(align(now) + l.p - from, 0))
end
local windows = false
for _, l in ipairs(k.parts) do
  if l.kind ~= 'g' and l.kind ~= 'w' then
    local a = moved(l)
    windows = windows or a ~= l.a
    l.a = a
  elseif l.left then
    l.left = F.C.real(c, F.C.now(old, l.left))
  end
end
if windows and k.queue and k.queue.tag > 0 then k.queue.seq = k.queue.seq + 1 end
k.clock = c
local text = F.C.save(c)
if lift and v == now and not k.restored then k.clock = false end
F.write(k)
redis.pcall('PUBLISH', ARGV[12], table.concat({ text, old and F.C.save(old) or '0', string.format('%d', ahead), ARGV[13] }, ' '))
return 1
