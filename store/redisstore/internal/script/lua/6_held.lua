-- Calls in flight: a sorted set of the leases of a key, each by the instant at which it
-- ends.
local MAX_LEASE = 3600000000

local function lease_ends(key, i)
  local found = redis.call('ZRANGE', KEYS[key], str(i), str(i), 'WITHSCORES')
  local at = tonumber(found[2])
  if found[1] and not (at and at >= 0 and at < LARGEST) then rubbish('a lease that ends at no instant') end
  return at
end

-- Every lease lives as long as the key does.
local function lease_keep(key, now, longer)
  local last = lease_ends(key, -1)
  if last then redis.call('PEXPIRE', KEYS[key], str(floor((last + 999 - now) / 1000) + 1 + longer)) end
end

-- Forgets leases that have ended. Those further away than any can be mean that the
-- server's clock stepped back.
local function lease_sweep(key, now, lease)
  redis.call('ZREMRANGEBYSCORE', KEYS[key], '-inf', str(now))
  local last = lease_ends(key, -1)
  if not last or last <= now + MAX_LEASE then return end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[key], '(' .. str(now + MAX_LEASE), '+inf')) do
    redis.call('ZADD', KEYS[key], str(now + lease), id)
  end
end

-- The instant from which there is room for one more lease if none is renewed; nil when
-- there is.
local function lease_full(key, most, lease, now)
  lease_sweep(key, now, lease)
  local over = redis.call('ZCARD', KEYS[key]) - most
  if over >= 0 then return lease_ends(key, over) end
end
