-- A key's value is 'signature|numbers of each limit|last,at'. The third part is
-- there only while a booked slot is still to come: the last one, rounded down, when
-- a booking was made last, and what is ahead. The signature says which limits the
-- numbers belong to. A brake that is set follows.
local algorithms = { g = gcra, w = log, c = counter, f = fixed, a = aligned }

-- Returns a key's value. The common case keeps it in a hash, whose field is what
-- the value begins with.
local function get(key)
  local value = redis.pcall('GET', key)
  if type(value) ~= 'table' then return value end
  if not string.find(value.err, 'WRONGTYPE', 1, true) then return redis.call('GET', key) end -- Which raises that.
  local hash = redis.call('HGETALL', key)
  if #hash ~= 2 then rubbish('a hash of more fields than one') end
  return hash[1] .. hash[2]
end

local function numbers(text, least)
  local v = split(text, '[^.]+')
  for i = 1, #v do
    v[i] = tonumber(v[i])
    if not v[i] or v[i] >= 9007199254740992 then rubbish('a number over 2^53') end
  end
  if #v < least then rubbish('a value with too few numbers') end
  return v
end

-- Makes the state of a limit another.
local function reload(l, text)
  if not text then rubbish('a pause of another length than its signature') end
  l.alg.fresh(l)
  l.alg.load(l, numbers(text, l.alg.fields))
  l.alg.check(l)
end

-- The limits of a signature that is not the request's, each with its numbers.
local function others(signature, text)
  local list, values = {}, split(text, '[^;]+')
  for i, spec in ipairs(split(signature, '[^,]+')) do
    local kind, rate, p, burst = string.match(spec, '^([gwcfa])(%d+)/(%d+)/?(%d*)$')
    local part = values[i]
    if not kind or not part then rubbish('a signature that is not weir\'s') end
    local old = {
      spec = spec, alg = algorithms[kind], numbers = numbers(part, algorithms[kind].fields),
      max = tonumber(rate) or 0, p = tonumber(p) or 0, burst = tonumber(burst) or 1,
    }
    if math.min(old.max, old.p, old.burst) < 1 or math.max(old.max, old.burst) > MOST
      or math.max(old.p, old.p / old.max * old.burst) > 2e15 then
      rubbish('a signature out of bounds')
    end
    list[#list + 1] = old
  end
  return list
end

local function find(list, field, value)
  for i, old in ipairs(list) do
    if old[field] == value then return table.remove(list, i) end
  end
end

local function logs(list)
  for _, l in ipairs(list) do
    if l.alg == log then return true end
  end
  return false
end

-- The limits of a key have changed: a limit keeps its state at another place;
-- a new one takes over the first state left of its algorithm, else is fresh.
local function inherit(limits, list, now, peek)
  local new = {}
  for _, l in ipairs(limits) do
    local same = find(list, 'spec', l.spec)
    if same then l.alg.load(l, same.numbers) else new[#new + 1] = l end
  end
  local gone = #list > 0
  for _, l in ipairs(new) do
    local old = find(list, 'alg', l.alg)
    if old then
      l.alg.load(l, old.numbers)
      l.alg.adapt(l, old, now)
    else
      l.alg.fresh(l)
    end
  end
  gone = gone and not peek
  for _, l in ipairs(limits) do
    if gone then l.alg.clamp(l, now, true) end
  end
  return gone
end

-- Reads a key's value and log. State from the future means that the server's
-- clock stepped back: the state steps back with it, so that nobody waits longer
-- than a period for it.
local function open(g, now, peek)
  g.last, g.at, g.stop, g.ahead, g.len, g.newest = 0, 0, 0, '', 0, 0
  g.value = get(g.key)
  local pending, rest = false, ''
  if g.log then
    g.len = redis.call('LLEN', g.log)
    if g.len > 0 then g.newest = log.entry(redis.call('LINDEX', g.log, '-1'), 1) end
  end
  if not g.value then
    for _, l in ipairs(g.limits) do l.alg.fresh(l) end
  else
    local state = g.value
    if string.find(state, '!', 1, true) then state, g.brake = brake.load(state) end
    local signature, text, tail = string.match(state, '^([^|]+)|([%d.;]+)|?([%d,]*)$')
    if not signature then rubbish('a value that is not weir\'s') end
    if tail ~= '' then
      local last, at
      last, at, rest = string.match(tail, '^(%d+),(%d+),?([%d,]*)$')
      if not last then rubbish('a value that is not weir\'s') end
      g.last, g.at = tonumber(last), tonumber(at)
      -- No slot is booked more than 12.5 years ahead.
      if not g.last or not g.at or g.last - g.at > 4e14 or g.at > g.last or g.last >= 9007199254740992 then rubbish('a slot too far ahead') end
      g.stop, pending = g.last, g.last >= now
      if pending then ahead.load(g, rest) end
    end
    if signature == g.signature then
      local values = split(text, '[^;]+')
      if #values ~= #g.limits then rubbish('a value of another length than its signature') end
      for i, l in ipairs(g.limits) do
        l.alg.load(l, numbers(values[i], l.alg.fields))
        l.alg.check(l)
      end
    else
      local list = others(signature, text)
      if g.len > 0 and not logs(list) then log.forget(g, peek) end
      if g.len > 0 then log.arrange(g, list, peek) end
      local gone = inherit(g.limits, list, now, peek)
      if gone and g.newest > now then log.rewrite(g, function(t) return math.min(t, now) end) end
      if gone then g.last, g.stop, pending = 0, 0, false end
      ahead.forget(g) -- The places of the limits are others.
      g.adapted = true
    end
  end
  if g.brake then g.brake = brake.since(g.brake, now) end
  if g.brake and g.adapted then g.brake.still = nil end
  local back = 0
  if pending then back = math.max(g.at - now, 0) end
  local latest = pending and g.last + 1 or now
  for _, l in ipairs(g.limits) do back = math.max(back, l.alg.ahead(l, g) - latest) end
  if back > 0 and not g.adapted then
    for _, l in ipairs(g.limits) do l.alg.shift(l, back) end
    if g.len > 0 then log.rewrite(g, function(t) return t - back end) end
    g.last, g.at, g.shifted = math.max(g.last - back, 0), math.min(g.at, now), true
    g.stop = math.max(g.stop - back, 0)
    ahead.forget(g)
    if g.brake then g.brake.still = nil end
  end
  for _, l in ipairs(g.limits) do
    if l.alg.open then l.alg.open(l, g, now) end
  end
end

-- Whether a refused call has something to put right: a clock that stepped back,
-- limits that changed, a key without a TTL.
local function repairs(g, peek)
  if g.shifted or peek then return g.shifted end
  return g.adapted
    or (g.value and redis.call('PTTL', g.key) == -1)
    or (g.len > 0 and redis.call('PTTL', g.log) == -1)
end

local function write(g, now)
  local parts = {}
  for i, l in ipairs(g.limits) do parts[i] = l.alg.save(l, g, now) end
  local value = g.signature .. '|' .. table.concat(parts, ';')
  if g.last >= now then value = value .. '|' .. str(g.last) .. ',' .. str(g.at) .. ahead.save(g) end
  if g.brake then value = value .. brake.save(g.brake) end
  return value
end

-- Stores a key's value; both its keys live until the state has lapsed.
local function close(g, now, test)
  local lapse = math.max(g.last, g.brake and brake.lapse(g.brake) or 0)
  for _, l in ipairs(g.limits) do lapse = math.max(lapse, l.alg.lapse(l, g)) end
  local value = write(g, now)
  -- Rounded up, and one more for servers that expire at the millisecond.
  local px = math.max(math.ceil((lapse - now) / 1000), 0) + 1
  if test then px = px + 3600000 end
  redis.call('SET', g.key, value, 'PX', str(px))
  if g.log then redis.call('PEXPIRE', g.log, str(px)) end
  return value
end
