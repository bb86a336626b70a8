-- Makes leases end anew, and returns those that are not there: KEYS[1] are the leases of
-- a key, ARGV[2] is how long they live, the others name them.
local now, longer = clock()
local lease, lost = ARGV[2] + 0, {}
lease_sweep(1, now, lease)
for i = 3, #ARGV do
  if redis.call('ZSCORE', KEYS[1], ARGV[i]) then
    redis.call('ZADD', KEYS[1], str(now + lease), ARGV[i])
  else
    lost[#lost + 1] = ARGV[i]
  end
end
lease_keep(1, now, longer)
return lost
