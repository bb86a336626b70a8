-- The common case, one GCRA limit of one key with nothing booked ahead, decided
-- before the rest of the script is set up, which takes longer than this. What
-- is not common goes on to the rest, which decides the same.
if #ARGV == 14 and ARGV[3] == 'take' then
  local now = tonumber(ARGV[1])
  local more = now and 3600000 or 0
  if not now then
    local t = redis.call('TIME')
    now = tonumber(t[1]) * 1000000 + tonumber(t[2])
  end
  local value = redis.call('GET', KEYS[1])
  local w, r = now, 0
  if value then
    local signature, a, b = string.match(value, '^([^|]*)|(%d+)%.?(%d*)$')
    w, r = tonumber(a), tonumber(b) or 0
    if signature ~= ARGV[4] then w = nil end
  end
  local cw, q = tonumber(ARGV[12]), tonumber(ARGV[14])
  if w and w <= now + cw and r < q then
    if w < now then w, r = now, 0 end
    local iw, ir = tonumber(ARGV[10]), tonumber(ARGV[11])
    local sw, sr = w + (iw - cw), r + (ir - tonumber(ARGV[13]))
    if sr < 0 then sw, sr = sw - 1, sr + q elseif sr >= q then sw, sr = sw + 1, sr - q end
    if sr > 0 then sw = sw + 1 end
    if sw <= now then
      w, r = w + iw, r + ir
      if r >= q then w, r = w + 1, r - q end
      local new = string.format(r > 0 and '%s|%.0f.%.0f' or '%s|%.0f', ARGV[4], w, r)
      redis.call('SET', KEYS[1], new, 'PX', string.format('%.0f', math.ceil((w + 1 - now) / 1000) + 1 + more))
      return string.format('1 %.0f %.0f %.0f %.0f %.0f 0', now, now, now, w, r)
    end
    if sw - now > tonumber(ARGV[2]) and redis.call('PTTL', KEYS[1]) ~= -1 then
      return string.format('0 %.0f %.0f %.0f %.0f %.0f 0', now, sw, sw, w, r)
    end
  end
end

