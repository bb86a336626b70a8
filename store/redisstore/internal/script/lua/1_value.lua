if part == 'K' and not F.load then
-- Ends the script: a value is not weir's.
F.bad = function(what) error('WEIRSTATE ' .. what, 0) end

-- The instant from which a limit is as if never used.
F.lapse = function(l, newest)
  local kind = l.kind
  if kind == 'g' then return l.b > 0 and l.a + 1 or l.a end
  if kind == 'w' then return newest + l.p end
  if kind == 'c' then return (l.b > 0 and l.a + 2 * l.p) or (l.c > 0 and l.a + l.p) or l.a end
  return l.b > 0 and l.a + l.p or l.a
end

-- The value of a key, version 1:
--
--   1limit=numbers;limit=numbers~left|birth|q…|c…|l…
--
--   part     numbers                       present
--   gcra     tat.rest                      tat after the birth; rest if it is not 0
--   window   start.units.opened            opened if the queue has a tag
--   counter  start.units.before.opened.opened
--   sliding  entries.units                 before the first live entry, see the log
--   ~left                                  the last booking left the limit out; it lapses
--                                          at that time
--   birth                                  when the state was first written
--   |q       last.first.cost.tag.seq.at
--            ,n.seq.slot.slack.rest…       slots are ahead, or can be given back; then
--                                          the credit of each gcra, see the queue
--   |c       see the clock                 a brake was set
--   |l       see the log                   a limit is a sliding window
--   |r       birth;numbers;numbers         a loss was restored, see restore, or the clock
--                                          stepped back to before the birth: the state was
--                                          born then; without numbers: the key was reset
--
-- last and first count from the birth, at is the server's time of the last booking. See
-- exact.Queue and exact.Part for the other names.

-- Reads a limit at a place, and returns the place after it; nil if another limit is there.
F.load_part = function(l, value, i)
  local spec, a, b, c, j = string.match(value, '^([^;=|]+)=(%d+)%.?(%d*)%.?(%d*)()', i)
  if spec ~= l.spec then return end
  local kind, bad = l.kind, nil
  a, b = a + 0, b == '' and 0 or b + 0
  if kind == 'g' then
    bad = a >= 4503599627370496 or b >= l.q or c ~= ''
    l.grades = ''
  elseif kind == 'w' then
    bad = math.max(a, b) >= 9007199254740992 or c ~= ''
  else
    c = c == '' and 0 or c + 0
    l.opened, l.before = 0, 0
    if kind ~= 'c' then
      l.opened = c
    else
      l.c = c
      local x, y, ends = string.match(value, '^%.(%d+)%.(%d+)()', j)
      if x then l.opened, l.before, j = x + 0, y + 0, ends end
    end
    bad = a >= 9007199254740992 or math.max(b, c) > 2251799813685248
  end
  if bad then F.bad('a number out of bounds') end
  l.a, l.b = a, b
  if l.new or l.left then l.new, l.left = nil, nil end
  return j
end

-- Reads the optional parts after the birth.
F.load_rest = function(k, value, i)
  while i <= #value do
    local kind = string.sub(value, i, i + 1)
    i = i + 2
    if kind == '|q' and not k.queue then
      i = use('Q').load(k, value, i)
    else
      local text, ends = string.match(value, '^([%d.]+)()', i)
      if kind == '|c' and text and not k.clock then
        k.clock = use('C').load(text)
      elseif kind == '|l' and text and not k.log then
        k.log = use('G').load(k, text)
      elseif kind == '|r' and not k.restored then
        ends = use('S').load_restored(k, value, i)
      else
        F.bad('an unknown part')
      end
      i = ends
    end
  end
end

-- Reads the key at KEYS[k.state], with its log at KEYS[k.list] if the call names one. seen is
-- the text of the time at which the caller last saw the key; '0': never. If the call can't
-- be decided, k.undecided is the code of reply.go.
F.load = function(k, seen)
  local limits, list = k.limits, k.list
  k.parts, k.born, k.v = limits, now, now
  local value, n, odd, ahead = redis.call('GET', KEYS[k.state]), #limits, false, false
  k.value = value
  if not value then
    for i = 1, n do
      local l = limits[i]
      l.a, l.b, l.new = 0, 0, true
      if l.kind == 'g' then
        l.a, l.grades = now, ''
      elseif l.kind ~= 'w' then
        l.c, l.opened, l.before = 0, 0, 0
      end
      if l.left then l.left = nil end
    end
  else
    local i = 2
    odd = string.byte(value, 1) ~= 49 or n == 0
    for m = 1, odd and 0 or n do
      i = F.load_part(limits[m], value, i)
      if not i or string.byte(value, i) ~= (m < n and 59 or 124) then odd = true break end
      i = i + 1
    end
    local born, ends
    if not odd then born, ends = string.match(value, '^(%d+)()', i) end
    if born then
      k.born, k.birth = born + 0, born
      if k.born >= 9007199254740992 then F.bad('a birth out of bounds') end
      odd = k.born > now
      if ends <= #value then
        F.load_rest(k, value, ends)
        local q = k.queue
        if k.clock or q and q.at > now or k.log and not q and k.log.newest > now then odd = true end
        ahead = q and q.at <= now
      end
      for m = 1, n do
        local l = limits[m]
        if l.kind == 'g' then
          l.a = l.a + k.born
          odd = odd or not ahead and l.a > now + l.cw + 1
        else
          odd = odd or not ahead and l.kind ~= 'w' and l.a > now
        end
      end
    else
      odd = true
      use('O').load_other(k, value, limits)
    end
    for m = 1, k.log and 0 or #k.parts do
      if k.parts[m].kind == 'w' then F.bad('a sliding window without its log') end
    end
  end
  if list then
    use('G')
    local entries = redis.call('LLEN', KEYS[list])
    if not value and entries > 0 and string.find(redis.call('LINDEX', KEYS[list], '0'), '^%d+%.%d+%.?%d*$') then
      -- It expires up to a millisecond after the value.
      redis.call('DEL', KEYS[list])
    elseif entries ~= (k.log and k.log.n - k.log.first or 0) then
      F.bad('a log apart from its value')
    end
  elseif k.log then
    k.undecided = -1 -- The log is not among KEYS: the call has to come again with it.
    return k
  end
  if odd then
    use('O').open(k, limits)
  elseif list then
    for i = 1, n do
      local l = limits[i]
      if l.kind == 'w' then
        if k.log then l.a, l.b = F.G.expired(k.log, l, now) else k.log = F.G.new(k) end
      end
    end
  end
  if seen and seen ~= '0' and (k.restored or k.born) > seen + 0 then k.undecided = -3 end -- It was lost since.
  return k
end

F.save = function(k)
  local text, parts, born = '1', k.parts, k.born
  local n, birth = #parts, k.birth or string.format('%d', born)
  for i = 1, n do
    local l = parts[i]
    local kind, a, b, numbers = l.kind, l.a, l.b, nil
    if kind == 'g' then
      a = a > born and a - born or 0
      numbers = string.format(b > 0 and '=%d.%d' or '=%d', a, b)
    elseif kind == 'w' then
      numbers = string.format('=%d.%d', a, b)
    elseif kind == 'c' then
      numbers = string.format(l.opened + l.before > 0 and '=%d.%d.%d.%d.%d' or '=%d.%d.%d', a, b, l.c, l.opened, l.before)
    else
      numbers = string.format(l.opened > 0 and '=%d.%d.%d' or '=%d.%d', a, b, l.opened)
    end
    if l.left then numbers = string.format('%s~%d', numbers, l.left) end
    if i < n then
      text = text .. l.spec .. numbers .. ';'
    else
      text = text .. l.spec .. numbers .. '|' .. birth
    end
  end
  if n == 0 then text = '1|' .. birth end
  if k.queue then text = F.Q.save(k, text) end
  if k.clock then text = text .. '|c' .. F.C.save(k.clock) end
  if k.log then text = text .. F.G.save_value(k) end
  if k.restored then text = text .. use('S').save_restored(k) end
  return text
end

-- Writes the key. It lives until the state has lapsed, in milliseconds, rounded up, and one
-- more for servers that expire at the millisecond. If units can be given back, or limits are
-- left out, its TTL never becomes shorter than before.
F.write = function(k)
  local parts, v, at, newest = k.parts, 0, now, k.log and k.log.newest or 0
  if k.log and not F.G.save(k.log, parts) then k.log = false end
  for i = 1, #parts do
    local l = parts[i]
    local n = F.lapse(l, newest)
    if l.left or l.kind ~= 'g' and l.kind ~= 'w' then
      n = l.left or n
      if n > at then at = n end
    elseif n > v then
      v = n
    end
  end
  if k.queue and k.queue.last > v then v = k.queue.last end
  if k.clock then
    at = math.max(at, F.C.lapse(k.clock))
    v = F.C.real(k.clock, v)
  end
  if v > at then at = v end
  local px = at + 999 - now
  px = (px - px % 1000) / 1000 + 1 + longer
  if k.value and (k.queue or k.keeps or #parts > #k.limits) then px = math.max(px, redis.call('PTTL', KEYS[k.state])) end
  local lives = string.format('%d', px)
  redis.call('SET', KEYS[k.state], F.save(k), 'PX', lives)
  if k.log then redis.call('PEXPIRE', KEYS[k.list], lives) end
end
end
