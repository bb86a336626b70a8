-- Corrects the charges of a booking at g.slot to what they really cost: of each
-- limit from l.c to l.a, which is 0 when it is cancelled.

-- The numbers of each limit in a value.
local function parts(value)
  return split(string.match(value, '^[^|]*|([%d.;]*)') or '', '[^;]+')
end

-- The state of a limit in a value, nil when there is none.
local function as_of(l, list, i)
  if not list[i] then return end
  local old = {}
  l.alg.load(old, numbers(list[i], l.alg.fields))
  return old
end

-- Corrects what was booked before a pause in the states that are kept of then too,
-- and returns whether anything changed.
local function settle_still(g, after, now)
  local still, changed = g.brake and g.brake.still, false
  if not still or g.slot > still.at + brake.VOID_FROM then return false end
  for i, l in ipairs(g.limits) do
    local old = l.alg ~= log and l.a ~= l.c and as_of(l, after, i)
    if old then
      local s = {}
      for k, v in pairs(l) do s[k] = v end
      reload(s, still[i])
      local since = s.alg.since(s)
      if since and s.alg.since(old) == since and s.alg.settle(s, g.slot, now, false) then
        still[i], changed = s.alg.save(s, g, now), true
      end
    end
  end
  return changed
end

local function settle(g, now, test)
  local value = get(g.key)
  if not value or string.sub(value, 1, #g.signature + 1) ~= g.signature .. '|' then return end
  local left = redis.call('PTTL', g.key)
  open(g, now, true)
  -- Of a slot that was made void nothing is booked.
  local granted = g.brake and string.match(g.after, '|%d+,(%d+)')
  if granted and brake.is_void(g.brake, g.slot, tonumber(granted)) then return end
  local alone, nothing, changed, logged = value == g.after, true, false, false
  for _, l in ipairs(g.limits) do
    if l.c == 0 then l.a = 0 end
    nothing = nothing and l.a == 0
    logged = logged or (l.alg == log and l.a ~= l.c)
  end
  -- What was booked before the server's clock stepped back is not found again.
  if g.shifted and not (alone and nothing) then return end
  if logged then changed = log.settle_all(g, g.slot, now) end
  if alone and nothing then
    if g.before == '' then
      redis.call('DEL', g.key)
    elseif left < 0 then
      redis.call('SET', g.key, g.before)
      g.brake = nil
      open(g, now, true)
      close(g, now, test) -- It has lost its TTL, and gets one again.
    else
      redis.call('SET', g.key, g.before, 'PX', str(math.max(left, 1)))
    end
    return
  end
  local before, after = parts(g.before), parts(g.after)
  changed = settle_still(g, after, now) or changed
  for i, l in ipairs(g.limits) do
    if l.alg ~= log and l.a ~= l.c then
      if alone and l.a == 0 then
        local old = as_of(l, before, i)
        l.alg.fresh(l)
        if old then l.alg.load(l, numbers(before[i], l.alg.fields)) end
        changed = true
      else
        local old = as_of(l, after, i)
        local since = l.alg.since(l)
        -- Of a window that is the last again, as the line is shorter, it is not kept
        -- when units were booked first.
        local known = old and since and l.alg.since(old) == since or l.alg.recede and ahead.has(g)
        if known and l.alg.settle(l, g.slot, now, alone) or l.alg.miss(l, g.slot, now, old) then
          changed = true
        end
      end
    end
  end
  if ahead.settle(g, g.slot, now) or changed then close(g, now, test) end
end
