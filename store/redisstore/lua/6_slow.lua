-- Has the states of a key's limits be kept for as long as it is paused.
local function stand(g, now)
  local still = { at = now }
  for i, l in ipairs(g.limits) do still[i] = l.alg == log and '0' or l.alg.save(l, g, now) end
  g.brake.still = g.brake.pause > now and still or nil
end

-- Which limit of a key is the first to be as if never used. It gives back only what
-- goes beyond it, so that callers come at its pace after a pause, and not as a herd.
local function narrowest(g)
  local narrow, least
  for i, l in ipairs(g.limits) do
    local takes = l.alg == gcra and l.cw or l.p
    if not least or takes < least then narrow, least = i, takes end
  end
  return narrow
end

-- Frees the slots booked ahead on a key. Those that come at once count as used,
-- since whoever has one may be gone before hearing of it. In a pause, of which still
-- is what was kept, none does.
local function void(g, now, still)
  if g.stop <= now then return end
  g.brake = g.brake or brake.none(now)
  brake.drop(g.brake, g.stop, now)
  local at = now
  now = now + brake.VOID_FROM
  if g.log then
    local k = g.len
    while g.len > 0 and g.newest > now do
      redis.call('RPOP', g.log)
      g.len = g.len - 1
      g.newest = g.len > 0 and log.entry(redis.call('LINDEX', g.log, '-1'), 1) or 0
    end
    if g.len < k then
      for _, l in ipairs(g.limits) do
        if l.alg == log then
          l.k = nil
          log.open(l, g, at)
        end
      end
    end
  end
  local narrow = narrowest(g)
  for i, l in ipairs(g.limits) do
    if not still then
      l.alg.void(l, now, function(before) return i == narrow and 0 or ahead.units(g, i, now, before) end)
    elseif l.alg ~= log then
      reload(l, still[i])
    end
  end
  -- Those who book again come from then on, in their order, which they would not if
  -- one of them was let in at once.
  g.last, g.stop, g.begun, g.ahead = now, now, nil, ''
end

-- Sets or lifts a key's brake. Of limits that are not the stored ones nothing is
-- changed.
local function slow(g, o, now, test)
  local value = get(g.key)
  local own = not value or string.sub(value, 1, #g.signature + 1) == g.signature .. '|'
  local state, left
  if own then
    open(g, now, true)
  else
    left = redis.call('PTTL', g.key)
    state, g.brake = brake.load(value)
    g.brake = brake.since(g.brake, now)
  end
  local changed, voided, still
  if g.brake and g.brake.pause > now + brake.VOID_FROM then still = g.brake.still end
  if o.lift then
    changed = g.brake ~= nil and brake.sets(g.brake)
    voided = changed
    if changed then g.brake = brake.lift(g.brake, now) end
  else
    g.brake = g.brake or brake.none(now)
    changed, voided = brake.apply(g.brake, o, now)
  end
  if not changed then return end
  if own then
    if voided then
      void(g, now, still)
      if g.brake and not still then stand(g, now) end
    end
    close(g, now, test)
  else
    local px = left
    if g.brake then
      state = state .. brake.save(g.brake)
      px = math.max(px, math.ceil((brake.lapse(g.brake) - now) / 1000) + 1)
    end
    if left < 0 then
      redis.call('SET', g.key, state) -- Whoever takes next gives it a TTL again.
    else
      redis.call('SET', g.key, state, 'PX', str(math.max(px, 1)))
    end
  end
  -- Whoever waits learns of it; not where publishing is not allowed.
  if voided then redis.pcall('PUBLISH', o.channel, str(now) .. ' ' .. o.name) end
end
