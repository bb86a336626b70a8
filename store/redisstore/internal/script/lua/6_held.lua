-- Calls in flight: a sorted set of the leases of a key, by the instants of their ends.
if part == 'H' and not F.H then
local H
H = {
ends = function(key, i)
  local found = redis.call('ZRANGE', KEYS[key], string.format('%d', i), string.format('%d', i), 'WITHSCORES')
  local at = tonumber(found[2])
  if found[1] and not (at and at >= 0 and at < 9007199254740992) then error('WEIRSTATE a lease that ends at no instant', 0) end
  return at
end,

-- Makes the key live as long as its last lease.
keep = function(key)
  local last = H.ends(key, -1)
  if last then redis.call('PEXPIRE', KEYS[key], string.format('%d', math.floor((last + 999 - now) / 1000) + 1 + longer)) end
end,

-- Forgets ended leases. Leases further away than the longest mean that the server's clock
-- stepped back.
sweep = function(key, lease)
  redis.call('ZREMRANGEBYSCORE', KEYS[key], '-inf', string.format('%d', now))
  local last = H.ends(key, -1)
  if not last or last <= now + 3600000000 then return end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[key], '(' .. string.format('%d', now + 3600000000), '+inf')) do
    redis.call('ZADD', KEYS[key], string.format('%d', now + lease), id)
  end
end,

-- The instant from which there is room for one more lease if none is renewed; nil if there
-- is room.
full = function(key, most, lease)
  H.sweep(key, lease)
  local over = redis.call('ZCARD', KEYS[key]) - most
  if over >= 0 then return H.ends(key, over) end
end,
}
F.H = H
end
