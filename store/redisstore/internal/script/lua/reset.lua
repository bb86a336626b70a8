-- Forgets a key and its leases. KEYS are its state, log and leases. Callers' memories of it
-- lapse with the state, or soon if the state is lost. Until then the mark shows them that
-- nothing was lost.
local px = math.max(redis.call('PTTL', KEYS[1]), 600000)
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
redis.call('SET', KEYS[1], string.format('1|%d|r', now), 'PX', px)
return 1
