-- Calls in flight: a sorted set of the leases of a key, each by the instant at which it
-- ends.
local H
local leases = function() H = {
ends = function(key, i)
  local found = redis.call('ZRANGE', KEYS[key], F.str(i), F.str(i), 'WITHSCORES')
  local at = tonumber(found[2])
  if found[1] and not (at and at >= 0 and at < 9007199254740992) then F.rubbish('a lease that ends at no instant') end
  return at
end,

-- Every lease lives as long as the key does.
keep = function(key)
  local last = H.ends(key, -1)
  if last then redis.call('PEXPIRE', KEYS[key], F.str(math.floor((last + 999 - now) / 1000) + 1 + longer)) end
end,

-- Forgets leases that have ended. Those further away than any can be mean that the
-- server's clock stepped back.
sweep = function(key, lease)
  redis.call('ZREMRANGEBYSCORE', KEYS[key], '-inf', F.str(now))
  local last = H.ends(key, -1)
  if not last or last <= now + 3600000000 then return end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[key], '(' .. F.str(now + 3600000000), '+inf')) do
    redis.call('ZADD', KEYS[key], F.str(now + lease), id)
  end
end,

-- The instant from which there is room for one more lease if none is renewed; nil when
-- there is.
full = function(key, most, lease)
  H.sweep(key, lease)
  local over = redis.call('ZCARD', KEYS[key]) - most
  if over >= 0 then return H.ends(key, over) end
end,
} end
