-- Sets, changes or lifts a key's brake, and publishes its clock. request.go says what is
-- in KEYS and ARGV.
local now, longer = clock()
local function number(i) return ARGV[i] + 0 end
local lift, pause, slack, cut, recovery, since = number(2) > 0, number(3), number(4), number(5) > 0, number(6), number(7)
local tell, gap, lasts, unit = number(8) > 0, min(number(9), MAX_GAP), number(10), min(number(11), MAX_GAP)
local k = load(1, 2, {}, now)
k.limits = k.parts
if not k.fresh then step_back(k) end
local old = k.clock
local v = clock_now(old, now)
k.v = v

-- The first slot that is still ahead, or a lower bound; 0: none is.
local function first()
  local q, g = k.queue, k.log
  if old and now < old.pause and old.stand > 0 then return max(old.stand, v) end
  if not q or q.last <= v then return 0 end
  if g then
    local i = log_search(g, g.first, function(i) return log_entry(g, i)[1] > v end)
    while i < g.n - 1 and log_sum(g, i) == log_sum(g, i + 1) do i = i + 1 end
    if i < g.n then return log_entry(g, i)[1] end
    return v
  end
  if q.first > v then return q.first end
  local l = k.parts[1]
  if q.cost > 0 and l and not k.parts[2] and l.kind == 'g' and q.cost * l.num < LARGEST / 2 then
    local step = q.cost * l.num
    local n = muldiv(v - q.first, l.q, step)
    return max(q.first + muldiv(n + 1, step, l.q), v)
  end
  return v
end

-- The clock from now on, without what is over.
local function from_now()
  local c = { at = now, v = v, pause = 0, stand = 0, unit = 1, gap = 0, ends = 0, share = 0, since = 0, step = 0, next = 0 }
  if not old then return c end
  c.unit = old.unit
  if old.pause > now then c.pause, c.stand = old.pause, old.stand end
  if old.ends > now then c.gap, c.ends = old.gap, old.ends end
  if clock_share(old, now) < FULL then c.share, c.since, c.step = old.share, old.since, old.step end
  if c.gap > 0 or c.share > 0 then c.next = old.next end
  return c
end

local c, ahead, changed = from_now(), first(), false
if lift then
  changed = c.pause > 0 or c.gap > 0 or c.share > 0
  c = { at = now, v = v, pause = 0, stand = 0, unit = 1, gap = 0, ends = 0, share = 0, since = 0, step = 0, next = 0 }
else
  if pause > 0 and now + pause > c.pause then
    if c.pause == 0 then c.stand = ahead end
    c.pause, changed = now + pause + slack, true
  end
  local share = clock_share(c, now)
  if cut and (share == FULL or c.since < since) then
    c.share, c.since, c.step, changed = max(floor(share / 2), 1), now, max(floor(recovery / FULL), 1), true
  end
  if tell then
    local ends = now + lasts
    if gap == 0 or ends == now then gap, ends = 0, 0 end
    changed = changed or gap ~= c.gap or ends ~= c.ends
    c.gap, c.ends = gap, ends
  end
  c.unit = unit
end
if not changed then
  if k.shifted then write(k, longer) end
  return 0
end

-- Windows that are ahead move with the clock, see exact.Move.
local function moved(l)
  if l.a <= now or ahead == 0 then return l.a end
  local function cut_off(t) return l.kind == 'f' and t or align(t, l.p) end
  local to, begin = cut_off(clock_real(c, clock_now(old, l.a))), cut_off(clock_real(old, ahead))
  local by = max(cut_off(clock_real(c, ahead)) - begin, min(cut_off(now) + l.p - begin, 0))
  return max(to, l.a + by)
end
for _, l in ipairs(k.parts) do
  if l.kind ~= 'g' and l.kind ~= 'w' and l.b > 0 then l.a = moved(l) end
end
if k.queue and k.queue.tag > 0 then k.queue.seq = k.queue.seq + 1 end
k.clock, k.keeps = c, true
local text = clock_save(c)
if lift and v == now then k.clock = nil end
write(k, longer)
redis.pcall('PUBLISH', ARGV[12], concat({ text, old and clock_save(old) or '0', str(ahead), ARGV[13] }, ' '))
return 1
