-- The common case, a GCRA limit of a key with nothing booked ahead, nothing that
-- may be given back and no brake, decided before the rest of the script is set
-- up, which takes longer than this. Any number of keys, and of calls for each.
--
-- Where a unit takes whole microseconds, the key is a hash of one field,
-- what a state begins with, and its TAT: that goes on by HINCRBY in half the time
-- that GET, formats and SET take. The rest of the script reads both forms, and
-- writes strings. A string stays one as long as it lives: without the key, for the
-- moment that another form takes, its slot might not be this server's any more.
--
-- fast.go says what is in ARGV and what is returned. A key that is not common is
-- left as it is, for the rest of the script to decide; which does so at once if
-- it is alone. Adding 0 makes numbers of texts, in less time than a call.
local uncommon
local ARGV = ARGV
if ARGV[1] == 'k' then -- Of whose keys all but the first are not declared, see moving.go.
  local names, rest = ARGV[2] + 0, {}
  for i = 3, #ARGV do
    if i <= names + 2 then KEYS[i - 1] = ARGV[i] else rest[#rest + 1] = ARGV[i] end
  end
  ARGV = rest
end
if ARGV[1] >= 'g' then
  local call, try, type, keys = redis.call, redis.pcall, type, #KEYS
  local format, floor, fmod = string.format, math.floor, math.fmod
  local names, before, a, k = KEYS, 0, 1, 0
  if ARGV[1] == 'p' then
    keys = ARGV[2] + 0
    names, before, a = ARGV, 2, 3 + keys
  end
  local now, more = ARGV[a + 9], 3600000
  if now and now ~= '' then
    now = now + 0
  else
    local t = call('TIME')
    now, more = t[1] * 1000000 + t[2], 0
  end
  local reply = keys > 1 and { now }
  repeat
    local prefix, each, cw, last = ARGV[a], ARGV[a + 1], ARGV[a + 2] + 0, keys
    local iw, calls, ir, cr, q = each + 0, 1, 0, 0, 1
    local full, need = now + cw, '0'
    local most = full
    if ARGV[a + 4] then
      ir, cr, q = ARGV[a + 4] + 0, ARGV[a + 5] + 0, ARGV[a + 6] + 0
      if ARGV[a + 7] then
        calls, last, need = ARGV[a + 7] + 0, k + ARGV[a + 8], ARGV[a + 10]
        if need ~= '0' then
          most, cr = full - ARGV[a + 11] + iw, cr - ARGV[a + 12] + ir
          if cr < 0 then most, cr = most - 1, cr + q elseif cr >= q then most, cr = most + 1, cr - q end
        end
      end
    end
    local whole, step = q == 1, cw > 1000000 and cw or 1000000
    repeat
      k = k + 1
      local key = names[before + k]
      local w, r, taken, was = now, 0, 0, 0
      local value = whole and try('HGET', key, prefix)
      local hashed = type(value) == 'string'
      if hashed then
        was = tonumber(value)
        w = was
      else
        value = try('GET', key)
        if value then
          local what, tat, rem
          if type(value) == 'string' then what, tat, rem = string.match(value, '^([^|]*|)(%d+)%.?(%d*)$') end
          w = what == prefix and tonumber(tat)
          if w and rem ~= '' then r = rem + 0 end
        end
      end
      if not w or w > full or r >= q then
        w, r, taken = 0, 0, -1
      elseif w < now then
        w, r = now, 0
      end
      if taken == 0 then
        if calls > 2 and calls * q < 9007199254740992 then
          -- As many as surely go at once, and the last ones one by one: what the
          -- remainders make is less than 1 µs. floor has integers come of it where
          -- Lua tells them from floats.
          local n = (most - w - 1) / (iw + ir / q) - 1
          if n >= calls then n = calls - 1 end
          if n >= 1 then
            taken = floor(n)
            w, r = w + taken * iw, r + taken * ir
            local rest = fmod(r, q)
            w, r = w + floor((r - rest) / q), rest
          end
        end
        repeat
          local x, y = w + iw, r + ir
          if y >= q then x, y = x + 1, y - q end
          if x > most or (x == most and y > cr) then break end
          w, r, taken = x, y, taken + 1
        until taken == calls
        if taken > 0 then
          -- The hash lives a while longer than the state, so that this is not to be
          -- written each time.
          local by, ends, hash = w - was, w - w % step + step, whole and (hashed or not value)
          if hash then
            hash = try('HINCRBY', key, prefix, by == iw and each or format('%.0f', by)) == w
          end
          if hashed and not hash then
            taken = -1
          elseif not hash or not hashed or ends ~= was - was % step + step or (k == 1 and call('PTTL', key) * 1000 < w - now) then
            -- In ms, rounded up, and one more for servers that expire at the ms.
            local px = ((hash and ends or w) + 1 - now) / 1000 + 2 + more
            px = format(px < 2147483648 and '%d' or '%.0f', px - px % 1)
            if not hash or not tonumber(try('PEXPIRE', key, px)) then
              call('SET', key, format(r > 0 and '%s%.0f.%.0f' or '%s%.0f', prefix, w, r), 'PX', px)
            end
          end
        elseif call('PTTL', key) == -1 then
          taken = -1
        end
      end
      if not reply then
        if taken >= 0 then return { now, taken, w, r } end
      else
        local n = #reply
        reply[n + 1], reply[n + 2], reply[n + 3] = taken, w, r
      end
    until k >= last
    a = a + 13
  until k >= keys
  if reply then return reply end
  local signature, p, max = string.match(ARGV[1], '^(g%d+/(%d+)/(%d+))|$')
  local leaves = (ARGV[11] or '0') ~= '0'
  uncommon = {
    ARGV[10] or '', ARGV[8] or '1', leaves and 'spare calls' or 'calls', signature, '0', '1', ARGV[4] or '1', max, p,
    ARGV[2], ARGV[5] or '0', ARGV[3], ARGV[6] or '0', ARGV[7] or '1',
    leaves and ARGV[11] or nil, ARGV[12], ARGV[13],
  }
end
local ARGV = uncommon or ARGV

