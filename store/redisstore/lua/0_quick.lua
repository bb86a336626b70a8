-- A call that takes of one key at once, of any limits but sliding windows, where
-- the state tells no more than what of each is used: it is decided before the rest
-- of the script is set up, which takes longer than this. Whatever else is found,
-- or refused, is left as it is, for the rest of the script to decide.
--
-- The numbers are those of the algorithms below, and are written as there.
if not uncommon and ARGV[3] == 'take' and ARGV[5] == '0' and #KEYS == 1 then
  repeat
    local value = redis.pcall('GET', KEYS[1])
    local signature, ends = ARGV[4], #ARGV[4] + 1
    if type(value) == 'table' or (value and string.sub(value, 1, ends) ~= signature .. '|') then break end
    local format, match, byte = string.format, string.match, string.byte
    local now, more = tonumber(ARGV[1]), 3600000
    if not now then
      local t = redis.call('TIME')
      now, more = t[1] * 1000000 + t[2], 0
    end
    local at = format('%.0f', now)
    local state, view, lapse = signature, '1 ' .. at .. ' ' .. at, now
    local separator, a = 124, 7 -- '|'
    for kind in string.gmatch(signature, '%a') do
      local x, y, z = 0, 0, 0
      if value then
        if byte(value, ends) ~= separator then a = nil break end
        x, y, z, ends = match(value, '^(%d+)%.?(%d*)%.?(%d*)()', ends + 1)
        if not x or (z ~= '') ~= (kind == 'c') or (y == '' and kind ~= 'g') then a = nil break end
        x, y, z = x + 0, y ~= '' and y + 0 or 0, z ~= '' and z + 0 or 0
      end
      local c, max, p = ARGV[a] + 0, ARGV[a + 1] + 0, ARGV[a + 2] + 0
      if c < 1 or x >= 9007199254740992 then a = nil break end
      if kind == 'g' then
        local cw, q = ARGV[a + 5] + 0, ARGV[a + 7] + 0
        if x - cw > now or y >= q then a = nil break end
        if x < now then x, y = now, 0 end
        x, y = x + ARGV[a + 3], y + ARGV[a + 4]
        if y >= q then x, y = x + 1, y - q end
        local full = now + cw
        if x > full or (x == full and y > ARGV[a + 6] + 0) then a = nil break end
        lapse = x + 1 > lapse and x + 1 or lapse
        state = format(y > 0 and '%s%s%.0f.%.0f' or '%s%s%.0f', state, a > 7 and ';' or '|', x, y)
        view = format('%s %s %.0f %.0f 0', view, at, x, y)
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
        view = format('%s %s %.0f %.0f %.0f', view, at, x, y, z)
        a = a + 3
      end
      separator = 59 -- ';'
    end
    if not a or (value and ends <= #value) then break end
    redis.call('SET', KEYS[1], state, 'PX', format('%.0f', math.max(math.ceil((lapse - now) / 1000), 0) + 1 + more))
    return view
  until true
end

