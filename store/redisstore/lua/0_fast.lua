-- The common case, a GCRA limit of a key with nothing booked ahead, nothing that
-- may be given back and no brake, decided before the rest of the script is set
-- up, which takes longer than this. Any number of keys, and of calls for each.
--
-- fast.go says what is in ARGV and what is returned. A key that is not common is
-- left as it is, for the rest of the script to decide; which does so at once if
-- it is alone.
local uncommon
if string.sub(ARGV[1], 1, 1) == 'g' then
  local keys, get, reply, a, k = #KEYS, redis.call, {}, 1, 0
  if keys > 1 then get = redis.pcall end
  local now, more = tonumber(ARGV[10]), 3600000
  if not now then
    local t = redis.call('TIME')
    now, more = t[1] * 1000000 + t[2], 0
  end
  reply[1] = now
  while k < keys do
    local prefix, iw, cw = ARGV[a], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
    local calls, last, ir, cr, q = tonumber(ARGV[a + 4] or 1), k + (ARGV[a + 5] or keys), 0, 0, 1
    if ARGV[a + 8] then ir, cr, q = tonumber(ARGV[a + 6]), tonumber(ARGV[a + 7]), tonumber(ARGV[a + 8]) end
    local full, start = now + cw, #prefix + 1
    while k < last do
      k = k + 1
      local key = KEYS[k]
      local value, w, r, taken = get('GET', key), now, 0, 0
      if value then
        local whole, rem
        if type(value) == 'string' and string.sub(value, 1, start - 1) == prefix then
          whole, rem = string.match(value, '^(%d+)%.?(%d*)$', start)
        end
        w = tonumber(whole)
        if rem and rem ~= '' then r = tonumber(rem) end
        if not w or w > full or r >= q then
          w, r, taken = 0, 0, -1
        elseif w < now then
          w, r = now, 0
        end
      end
      if taken == 0 then
        repeat
          local x, y = w + iw, r + ir
          if y >= q then x, y = x + 1, y - q end
          if x > full or (x == full and y > cr) then break end
          w, r, taken = x, y, taken + 1
        until taken == calls
        if taken > 0 then
          local new = string.format('%s%.0f', prefix, w)
          if r > 0 then new = string.format('%s.%.0f', new, r) end
          redis.call('SET', key, new, 'PX', string.format('%.0f', math.ceil((w + 1 - now) / 1000) + 1 + more))
        elseif redis.call('PTTL', key) == -1 then
          taken = -1
        end
      end
      local n = #reply
      reply[n + 1], reply[n + 2], reply[n + 3] = taken, w, r
    end
    a = a + 10
  end
  if keys > 1 or reply[2] >= 0 or (ARGV[5] or '1') ~= '1' then return reply end
  uncommon = { ARGV[10] or '', '0', 'take', string.sub(ARGV[1], 1, -2), '0', '1', ARGV[4], '', '', ARGV[2], ARGV[7] or '0', ARGV[3], ARGV[8] or '0', ARGV[9] or '1' }
  uncommon[9], uncommon[8] = string.match(ARGV[1], '^g%d+/(%d+)/(%d+)|$')
end
local ARGV = uncommon or ARGV

