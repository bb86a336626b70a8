
-- Calls that take of keys at once, of any limits, where the state tells no more
-- than what of each is used: where all are admitted, they are decided before the rest
-- of the script is set up, which takes longer than this. Whatever else is found, or
-- refused, is left as it is, for the rest of the script to decide; which does so at
-- once, but for calls of which each has a key of its own.
--
-- The numbers are those of the algorithms below, and are written as there.
if not uncommon and (ARGV[3] == 'many' or ARGV[3] == 'calls' or ARGV[3] == 'take') then
  local try, type, tonumber, format, sub = redis.pcall, type, tonumber, string.format, string.sub
  local match, byte, floor, fmod = string.match, string.byte, math.floor, math.fmod
  local now, more, a = tonumber(ARGV[1]), 3600000, 4
  if not now then
    local t = redis.call('TIME')
    now, more = t[1] * 1000000 + t[2], 0
  end

  -- Reads the limits of a key.
  local function rules()
    local signature, logged, limits = ARGV[a], ARGV[a + 1] == '1', {}
    a = a + 3
    for kind in string.gmatch(signature, '%a') do
      local l = { kind = kind, c = ARGV[a] + 0, max = ARGV[a + 1] + 0, p = ARGV[a + 2] + 0 }
      a = a + 3
      if kind == 'g' then
        l.iw, l.ir, l.cw, l.cr, l.q = ARGV[a] + 0, ARGV[a + 1] + 0, ARGV[a + 2] + 0, ARGV[a + 3] + 0, ARGV[a + 4] + 0
        a = a + 5
      end
      limits[#limits + 1] = l
    end
    return signature, logged, limits
  end

  -- What is written where so many calls are admitted, nil where they are not or it is
  -- not known: the state and when it lapses, of a log its entries and the units of a
  -- new one. What is told of each limit goes into reply, behind its n-th number.
  local function judge(key, log, signature, limits, calls, reply, n)
    local value, ends = try('GET', key), #signature + 1
    local state, lapse, separator, newest, most, units = signature, now, 124, nil, 0, nil -- '|'
    if type(value) == 'table' or (value and sub(value, 1, ends) ~= signature .. '|') then return end
    for i = 1, #limits do
      local l, x, y, z = limits[i], 0, 0, 0
      local kind, p, c = l.kind, l.p, l.c * calls
      if value then
        if byte(value, ends) ~= separator then return end
        if kind == 'w' then
          x, y, z, ends = match(value, '^(%d+)%.(%d+)%.(%d+)%.0%.%d+()', ends + 1)
        else
          x, y, z, ends = match(value, '^(%d+)%.?(%d*)%.?(%d*)()', ends + 1)
          if not x or (z ~= '') ~= (kind == 'c') or (y == '' and kind ~= 'g') then return end
        end
        if not x then return end
        x, y, z = x + 0, y ~= '' and y + 0 or 0, z ~= '' and z + 0 or 0
      end
      if c < 1 or c > l.max or x >= 9007199254740992 then return end
      if kind == 'g' then
        local q, full = l.q, now + l.cw
        if x > full or y >= q or q >= 9007199254740992 / (calls + 1) then return end
        if x < now then x, y = now, 0 end
        x, y = x + l.iw * calls, y + l.ir * calls
        if y >= q then
          local rest = fmod(y, q)
          x, y = x + floor((y - rest) / q), rest
        end
        if x > full or (x == full and y > l.cr) then return end
        lapse = x + 1 > lapse and x + 1 or lapse
        state = format(y > 0 and '%s%s%.0f.%.0f' or '%s%s%.0f', state, i > 1 and ';' or '|', x, y)
      elseif kind == 'w' then
        if not newest then
          local e = try('LINDEX', log, '-1')
          if e then e = type(e) == 'string' and (match(e, '^(%d+)$') or match(e, '^(%d+):[%d,]*%d$')) else e = '0' end
          if not e or #e > 16 then return end
          newest = e + 0
        end
        if newest ~= z or newest > now or (units and units ~= c) then return end
        -- A few that have expired; where they are more it takes another way.
        local steps = 0
        while y > 0 and steps < 9 do
          local e = try('LINDEX', log, format('%.0f', -y))
          local t, u = nil, nil
          if type(e) == 'string' and #e <= 33 then t, u = match(e, '^(%d+):?(%d*)$') end
          if not t or #t > 16 then return end
          if t + p > now then break end
          x, y, steps = x - (u == '' and 1 or u), y - 1, steps + 1
        end
        if steps == 9 or x < 0 or x + c > l.max then return end
        x, y, z, units = x + c, y + 1, 0, c
        most = y > most and y or most
        state = format('%s%s%.0f.%.0f.%.0f.0.%.0f', state, i > 1 and ';' or '|', x, y, now, now)
        y = now
        lapse = now + p > lapse and now + p or lapse
      else
        if x > now or y > 2251799813685248 or z > 2251799813685248 then return end
        local over, gone = now >= x + p, p
        if kind == 'c' then
          gone = 2 * p
          if now >= x + gone then
            x, y, z = now - fmod(now, p), 0, 0
          elseif over then
            z = y
            x, y = x + p, 0
          end
          local room, left = l.max - y - c, p - (now - x)
          if room < 0 or (z > room and (z >= 9007199254740992 / p or z * left > room * p)) then return end
          y = y + c
          state = format('%s%s%.0f.%.0f.%.0f', state, i > 1 and ';' or '|', x, y, z)
        else
          if over or y == 0 then x, y = kind == 'a' and now - fmod(now, p) or now, 0 end
          y = y + c
          if y > l.max then return end
          state = format('%s%s%.0f.%.0f', state, i > 1 and ';' or '|', x, y)
        end
        lapse = x + gone > lapse and x + gone or lapse
      end
      reply[n + 3 * i - 2], reply[n + 3 * i - 1], reply[n + 3 * i] = x, y, z
      separator = 59 -- ';'
    end
    if value and ends <= #value then return end
    return state, lapse, most, units
  end

  -- Writes that, and reports whether it did, unless call raises errors.
  local function keep(call, key, log, state, lapse, most, units)
    local px = format('%.0f', math.max(math.ceil((lapse - now) / 1000), 0) + 1 + more)
    -- Without the state what was pushed counts all the same.
    local len = not units or call('RPUSH', log, format(units == 1 and '%.0f' or '%.0f:%.0f', now, units))
    if type(len) == 'table' or call('SET', key, state, 'PX', px).err then return false end
    if units then
      if most < len then redis.call('LTRIM', log, format('%.0f', -most), '-1') end
      redis.call('PEXPIRE', log, px)
    end
    return true
  end

  if ARGV[3] == 'take' then
    local k, list, reply = 0, {}, {}
    while a <= #ARGV and ARGV[a] ~= 'hold' do
      local signature, logged, limits = rules()
      local key, log = KEYS[k + 1], logged and KEYS[k + 2]
      k = k + (logged and 2 or 1)
      local state, lapse, most, units = judge(key, log, signature, limits, 1, reply, #reply)
      if not state then list = nil break end
      list[#list + 1] = { key, log, state, lapse, most, units }
    end
    if list and a > #ARGV then
      for _, g in ipairs(list) do keep(redis.call, g[1], g[2], g[3], g[4], g[5], g[6]) end
      local at = format('%.0f', now)
      local view = { '1', at, at }
      for i = 1, #reply, 3 do view[#view + 1] = format('%s %.0f %.0f %.0f', at, reply[i], reply[i + 1], reply[i + 2]) end
      return table.concat(view, ' ')
    end
  else
    local many, keys, names, before = ARGV[3] == 'many', 1, KEYS, 0
    if many then
      keys = ARGV[2] + 0
      if not KEYS[1] then names, before, a = ARGV, 4, 5 + ARGV[4] end
    end
    local signature, logged, limits = rules()
    local reply, calls = { now }, ARGV[2] + 0
    for k = 1, keys do
      local n, key, log = #reply + 1, names[before + k], nil
      if logged then key, log = names[before + 2 * k - 1], names[before + 2 * k] end
      if many then calls = ARGV[a + k - 1] + 0 end
      reply[n] = calls
      local state, lapse, most, units = judge(key, log, signature, limits, calls, reply, n)
      if not state or not keep(try, key, log, state, lapse, most, units) then
        if not many then reply = nil break end
        for i = 0, 3 * #limits do reply[n + i] = 0 end
      end
    end
    if reply then return reply end
  end
end
