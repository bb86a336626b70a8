-- Calls in flight: a sorted set of the leases of a key, each by the instant at
-- which it ends.
local LONGEST = 3600000000 -- store.MaxLease, in us

local function ends(key, i)
  local found = redis.call('ZRANGE', key, str(i), str(i), 'WITHSCORES')
  local at = tonumber(found[2])
  if found[1] and not (at and at >= 0 and at < 9007199254740992) then rubbish('a lease that ends at no instant') end
  return at
end

-- Every lease lives as long as the key does.
local function keep(key, now, test)
  local last = ends(key, -1)
  if not last then return end
  local px = math.ceil((last - now) / 1000) + 1
  if test then px = px + 3600000 end
  redis.call('PEXPIRE', key, str(px))
end

-- Forgets what has ended. Leases further away than any can be mean that the
-- server's clock stepped back.
local function sweep(key, now, lease)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', str(now))
  local last = ends(key, -1)
  if not last or last <= now + LONGEST then return end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', key, '(' .. str(now + LONGEST), '+inf')) do
    redis.call('ZADD', key, str(now + lease), id)
  end
end

-- The instant from which there is room for one more lease if none is renewed;
-- nil when there is.
local function full(h, now)
  sweep(h.key, now, h.lease)
  local over = redis.call('ZCARD', h.key) - h.max
  if over >= 0 then return ends(h.key, over) end
end

local function hold(h, now, test)
  redis.call('ZADD', h.key, str(now + h.lease), h.id)
  keep(h.key, now, test)
end

-- Has the leases in ARGV end anew, and returns those that had ended.
local function renew(now, test)
  local key, lease, lost = KEYS[1], tonumber(ARGV[2]), {}
  sweep(key, now, lease)
  for i = 4, #ARGV do
    if redis.call('ZSCORE', key, ARGV[i]) then
      redis.call('ZADD', key, str(now + lease), ARGV[i])
    else
      lost[#lost + 1] = ARGV[i]
    end
  end
  keep(key, now, test)
  return lost
end
