-- Calls in flight: a sorted set of the leases of a key, by the instants of their ends. Before
-- them stands the call for which the next free place is kept, by minus the end of that.
if part == 'H' and not F.H then
local function text(n) return string.format('%d', n) end
local H
H = {
ends = function(key, i)
  local found = redis.call('ZRANGE', KEYS[key], text(i), text(i), 'WITHSCORES')
  local at = tonumber(found[2])
  if found[1] and not (at and math.abs(at) < 2^53) then error('WEIRSTATE a lease without an end', 0) end
  return at, found[1]
end,

-- Makes the key live as long as its last lease.
keep = function(key)
  local last = H.ends(key, -1)
  if last and last > 0 then redis.call('PEXPIRE', KEYS[key], text(math.floor((last + 999 - now) / 1000) + 1 + longer)) end
end,

-- Forgets what has ended. Ends further away than the longest mean that the server's clock
-- stepped back.
sweep = function(key, lease)
  redis.call('ZREMRANGEBYSCORE', KEYS[key], text(-now), text(now))
  local last = H.ends(key, -1)
  if not last or last <= now + 3.6e9 then return end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[key], '(' .. text(now + 3.6e9), '+inf')) do
    redis.call('ZADD', KEYS[key], text(now + lease), id)
  end
end,

-- The instant from which there is room for one more lease if none is renewed; nil if there
-- is room.
full = function(h)
  H.sweep(h.key, h.lease)
  local over = redis.call('ZCARD', KEYS[h.key]) - h.max
  if over < 0 then return end
  -- A place kept beyond a second is from before the server's clock stepped back.
  over = over - redis.call('ZREMRANGEBYSCORE', KEYS[h.key], '-inf', text(-now - 1e6 - 1))
  local kept, id = H.ends(h.key, 0)
  if not kept or kept > 0 then kept, id = 0, h.id end
  local ends
  if over > 0 or over == 0 and kept == 0 then ends = H.ends(h.key, over) elseif over == 0 and id ~= h.id then ends = -kept end
  if ends and h.next and id == h.id then redis.call('ZADD', KEYS[h.key], text(-now - 1e6), id) end
  return ends
end,
}
F.H = H
end
