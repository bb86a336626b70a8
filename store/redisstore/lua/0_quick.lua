-- Calls that take of one key at once, of any limits but sliding windows, where
-- the state tells no more than what of each is used: where all are admitted, they are
-- decided before the rest of the script is set up, which takes longer than this.
-- Whatever else is found, or refused, is left as it is, for the rest of the script
-- to decide.
--
-- The numbers are those of the algorithms below, and are written as there.
if not uncommon and ARGV[3] == 'calls' and ARGV[5] == '0' then
  repeat
    local value = redis.pcall('GET', KEYS[1])
    local signature, ends = ARGV[4], #ARGV[4] + 1
    if type(value) == 'table' or (value and string.sub(value, 1, ends) ~= signature .. '|') then break end
    local format, match, byte, calls = string.format, string.match, string.byte, ARGV[2] + 0
    local now, more = tonumber(ARGV[1]), 3600000
    if not now then
      local t = redis.call('TIME')
      now, more = t[1] * 1000000 + t[2], 0
    end
    local state, lapse, reply = signature, now, { now, -2, calls, calls, now, now }
    local separator, a = 124, 7 -- '|'
    for kind in string.gmatch(signature, '%a') do
      local x, y, z = 0, 0, 0
      if value then
        if byte(value, ends) ~= separator then a = nil break end
        x, y, z, ends = match(value, '^(%d+)%.?(%d*)%.?(%d*)()', ends + 1)
        if not x or (z ~= '') ~= (kind == 'c') or (y == '' and kind ~= 'g') then a = nil break end
        x, y, z = x + 0, y ~= '' and y + 0 or 0, z ~= '' and z + 0 or 0
      end
      local c, max, p = ARGV[a] * calls, ARGV[a + 1] + 0, ARGV[a + 2] + 0
      if c < 1 or c > max or x >= 9007199254740992 then a = nil break end
      if kind == 'g' then
        local cw, q = ARGV[a + 5] + 0, ARGV[a + 7] + 0
        if x - cw > now or y >= q or q >= 9007199254740992 / (calls + 1) then a = nil break end
        if x < now then x, y = now, 0 end
        x, y = x + ARGV[a + 3] * calls, y + ARGV[a + 4] * calls
        if y >= q then
          local rest = math.fmod(y, q)
          x, y = x + math.floor((y - rest) / q), rest
        end
        local full = now + cw
        if x > full or (x == full and y > ARGV[a + 6] + 0) then a = nil break end
        lapse = x + 1 > lapse and x + 1 or lapse
        state = format(y > 0 and '%s%s%.0f.%.0f' or '%s%s%.0f', state, a > 7 and ';' or '|', x, y)
        a = a + 8
      else
        if x > now or y > 2251799813685248 or z > 2251799813685248 then a = nil break end
        local over = now >= x + p
        if kind == 'c' then
          if now >= x + 2 * p then
            x, y, z = now - math.fmod(now, p), 0, 0
          elseif over then
            z = y
            x, y = x + p, 0
          end
          local room, left = max - y - c, p - (now - x)
          if room < 0 or (z > room and (z >= 9007199254740992 / p or z * left > room * p)) then a = nil break end
          y = y + c
          state = format('%s%s%.0f.%.0f.%.0f', state, a > 7 and ';' or '|', x, y, z)
        else
          if over or y == 0 then x, y = kind == 'a' and now - math.fmod(now, p) or now, 0 end
          y = y + c
          if y > max then a = nil break end
          state = format('%s%s%.0f.%.0f', state, a > 7 and ';' or '|', x, y)
        end
        local gone = x + (kind == 'c' and 2 * p or p)
        lapse = gone > lapse and gone or lapse
        a = a + 3
      end
      local n = #reply
      reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = now, x, y, z
      separator = 59 -- ';'
    end
    if not a or (value and ends <= #value) then break end
    redis.call('SET', KEYS[1], state, 'PX', format('%.0f', math.max(math.ceil((lapse - now) / 1000), 0) + 1 + more))
    return reply
  until true
end

