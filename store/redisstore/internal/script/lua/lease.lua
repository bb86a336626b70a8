-- Makes leases end anew, and returns the missing ones. KEYS[1] are the leases of a key,
-- ARGV[2] is their new duration, and the other arguments name them.
local lease, lost = ARGV[2] + 0, {}
use('H')
F.H.sweep(1, lease)
for i = 3, #ARGV do
  if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or 0) > 0 then
    redis.call('ZADD', KEYS[1], string.format('%d', now + lease), ARGV[i])
  else
    lost[#lost + 1] = ARGV[i]
  end
end
F.H.keep(1)
return lost
