-- Numbers are whole and below 2^53, where doubles are exact. Times are microseconds
-- since the Unix epoch. Functions have the names they have in package exact.
--
-- To make a function takes longer than most decisions. So functions are fields of few
-- tables, of which all but this one are made when a call needs them:
--
--   F   every call      N   large numbers, sliding counter
--   C   clocks          G   logs
--   Q   queues and credit
--   O   limits that changed, a clock that stepped back
--
-- ARGV[1] is empty for the server's clock, or the time. A '+' behind it makes keys live
-- an hour longer, for tests.
local F, N, C, G, Q, O
local numbers, clocks, logs, queues, others
local now, longer = ARGV[1], 0
if now == '' then
  local t = redis.pcall('TIME')
  if t.err then error('WEIRTIME ' .. t.err, 0) end -- Not all servers say of which command that is.
  now = t[1] * 1000000 + t[2]
else
  local at, more = string.match(now, '^(%d+)(%+?)$')
  now, longer = tonumber(at), more == '+' and 3600000 or 0
end

F = {
str = function(n) return string.format('%.0f', n) end,

-- A value that is not weir's ends the script before anything changes.
rubbish = function(what) error('WEIRSTATE ' .. what, 0) end,

-- The start of the window of length p, counted from the epoch, that holds t.
align = function(t, p) return t - math.fmod(t, p) end,

-- GCRA, the generic cell rate algorithm of ITU-T I.371: a and b are the theoretical
-- arrival time (TAT), whole microseconds and the rest over q. w and r are the time of
-- the units.
gcra_slot = function(l, at, w, r)
  local x, y = l.a + w - l.cw, l.b + r - l.cr
  if y < 0 then x, y = x - 1, y + l.q elseif y >= l.q then x, y = x + 1, y - l.q end
  if x < at then return at, at end
  return x, y > 0 and x + 1 or x
end,

gcra_book = function(l, at, w, r)
  local x, y, q = l.a, l.b + r, l.q
  if x < at then x, y = at, r end
  x = x + w
  if y >= q then
    local rest = math.fmod(y, q)
    x = x + (y - rest) / q
    y = rest
  end
  l.a, l.b = x, y
end,

-- Fixed and aligned windows: a is the start of the last window, b its units.
window_slot = function(l, at, units)
  if at < l.a then at = l.a end
  if l.b + units > l.max and at < l.a + l.p then at = l.a + l.p end
  return at
end,

window_book = function(l, at, units)
  if l.b == 0 or at >= l.a + l.p then
    l.a, l.b = l.kind == 'a' and F.align(at, l.p) or at, 0
  end
  l.b = l.b + units
end,

-- The instant from which a limit is as if never used.
lapse = function(l, newest)
  local kind = l.kind
  if kind == 'g' then return l.b > 0 and l.a + 1 or l.a end
  if kind == 'w' then return newest + l.p end
  if kind == 'c' then return (l.b > 0 and l.a + 2 * l.p) or (l.c > 0 and l.a + l.p) or l.a end
  return l.b > 0 and l.a + l.p or l.a
end,

-- The value of a key, version 1:
--
--   1limit=numbers;limit=numbers~left|birth|q…|c…|l…
--
--   part     numbers                       present
--   gcra     tat.rest                      tat after the birth; rest where it is not 0
--   window   start.units.opened            opened where the queue has a tag
--   counter  start.units.before.opened.opened
--   sliding  entries.units                 before the first live entry, see the log
--   ~left                                  the last booking left the limit out; it lapses
--                                          then
--   birth                                  when the state was first written
--   |q       last.first.cost.tag.seq.at
--            ,n.seq.slot.slack.rest…       slots are ahead, or can be given back; then
--                                          the credit of each gcra, see the queue
--   |c       see the clock                 a brake was set
--   |l       see the log                   a limit is a sliding window
--
-- last and first count from the birth, at is the server's time of the last booking. See
-- exact.Queue and exact.Part for the other names.

-- Reads the numbers of a limit at a place, and returns the place behind them.
load_part = function(l, value, i)
  local a, b, c, j = string.match(value, '^(%d+)%.?(%d*)%.?(%d*)()', i)
  if not a or j - i > 50 then F.rubbish('a limit without its numbers') end
  a, b, c = a + 0, b == '' and 0 or b + 0, c == '' and 0 or c + 0
  l.opened, l.before, l.grades, l.new, l.left = 0, 0, '', nil, 0
  if l.kind == 'g' then
    if b >= l.q or c > 0 or a >= 4503599627370496 then F.rubbish('a rest of a microsecond over its limit') end
  elseif l.kind == 'c' then
    if string.byte(value, j) == 46 then
      local x, y, e = string.match(value, '^%.(%d+)%.(%d+)()', j)
      if not x then F.rubbish('a limit without its numbers') end
      l.opened, l.before, j = x + 0, y + 0, e
    end
  elseif l.kind ~= 'w' then
    l.opened = c
    c = 0
  end
  if a >= 9007199254740992 or b >= 9007199254740992 or (l.kind ~= 'g' and l.kind ~= 'w' and math.max(b, c) > 2251799813685248) then
    F.rubbish('a number out of bounds')
  end
  l.a, l.b, l.c = a, b, c
  return j
end,

-- Reads the optional parts behind the birth.
load_rest = function(k, value, i)
  while i <= #value do
    local kind = string.sub(value, i, i + 1)
    i = i + 2
    if kind == '|q' and not k.queue then
      queues()
      i = Q.load(k, value, i)
    else
      local text, ends = string.match(value, '^([%d.]+)()', i)
      if kind == '|c' and text and not k.clock then
        clocks()
        k.clock = C.load(text)
      elseif kind == '|l' and text and not k.log then
        logs()
        k.log = G.load(k, text)
      else
        F.rubbish('an unknown part')
      end
      i = ends
    end
  end
end,

-- Reads the key at KEYS[state], with its log at KEYS[list] where the call names one.
load = function(k, state, list, limits)
  k.state, k.list, k.limits, k.parts, k.born, k.v = state, list, limits, limits, now, now
  k.queue, k.clock, k.log, k.birth = false, false, false, false
  if k.apart or k.shifted then k.apart, k.shifted = nil, nil end
  if limits.twice then
    others()
    k.parts, k.had = O.once(limits), 0
  end
  local value, n, odd, ahead = redis.call('GET', KEYS[state]), #limits, false, false
  k.value = value
  if not value then
    for i = 1, n do
      local l = limits[i]
      l.a, l.b, l.c, l.opened, l.before, l.grades, l.new, l.left = l.kind == 'g' and now or 0, 0, 0, 0, 0, '', true, 0
    end
  else
    local i = 2
    odd = string.byte(value, 1) ~= 49 or n == 0
    for m = 1, n do
      local l = limits[m]
      local ends = i + #l.spec
      if odd or string.sub(value, i, ends - 1) ~= l.spec or string.byte(value, ends) ~= 61 then odd = true break end
      i = F.load_part(l, value, ends + 1) + 1
      if string.byte(value, i - 1) ~= (m < n and 59 or 124) then odd = true break end
    end
    local born, ends
    if not odd then born, ends = string.match(value, '^(%d+)()', i) end
    if born then
      k.born, k.birth = born + 0, born
      if k.born >= 9007199254740992 then F.rubbish('a birth out of bounds') end
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
      others()
      O.load_other(k, value, limits)
    end
    for m = 1, #k.parts do
      if k.parts[m].kind == 'w' and not k.log then F.rubbish('a sliding window without its log') end
    end
  end
  if list then
    logs()
    local entries = redis.call('LLEN', KEYS[list])
    if not value and entries > 0 and string.find(redis.call('LINDEX', KEYS[list], '0'), '^%d+%.%d+%.?%d*$') then
      -- It expires up to a millisecond after the value.
      redis.call('DEL', KEYS[list])
    elseif entries ~= (k.log and k.log.n - k.log.first or 0) then
      F.rubbish('a log apart from its value')
    end
  elseif k.log then
    k.apart = true -- The log is not among KEYS: the call has to come again with it.
    return k
  end
  if odd then
    others()
    O.open(k, limits)
  elseif k.log then
    for i = 1, n do
      local l = limits[i]
      if l.kind == 'w' then G.expire(k.log, l, now) end
    end
  end
  for i = 1, not value and n or 0 do
    if limits[i].kind == 'w' then k.log = k.log or G.new(k, list) end
  end
  return k
end,

-- Finds the earliest slot at which all limits admit n calls.
find = function(k, n)
  local c, limits, b, q = k.clock, k.limits, k.v, k.queue
  if q and q.last > b then b = q.last end
  if c then b = C.floor(c, b, now) end
  local f, s, natural, timed = b, b, false, c
  for i = 1, #limits do
    local l = limits[i]
    local kind = l.kind
    if l.cost == 0 then
      l.slot = now
    elseif kind == 'g' then
      local x, y
      if n == 1 then x, y = F.gcra_slot(l, b, l.nw, l.nr) else x, y = F.gcra_slot(l, b, N.need(l, n)) end
      natural = x > b
      if x > f then f = x end
      if y > s then s = y end
      l.slot = y
    elseif kind == 'w' then
      local y = G.slot(k.log, l, b, l.cost * (n - 1) + l.need)
      natural = false
      if y > f then f = y end
      if y > s then s = y end
      l.slot = y
    else
      natural, timed = false, true
    end
  end
  local standing, real, latest = false, s, s
  if timed then
    local from = b
    if c then
      standing = C.standing(c, s, now)
      real, from = math.max(C.real(standing, s), now), math.max(C.real(standing, b), now)
    end
    latest = real
    for i = 1, #limits do
      local l = limits[i]
      local kind = l.kind
      if l.cost == 0 then
      elseif kind == 'g' or kind == 'w' then
        if c then l.slot = math.max(C.real(standing, l.slot), now) end
      else
        local units = l.cost * (n - 1) + l.need
        local at = kind == 'c' and N.counter_slot(l, from, units) or F.window_slot(l, from, units)
        l.slot = at
        if at > latest then latest = at end
      end
    end
  end
  k.floor, k.slot, k.real, k.standing, k.latest, k.natural = f, s, real, standing, latest, natural
  return latest
end,

-- Moves the slot to a later time of the server.
later = function(k, at)
  if at > k.real then
    k.real = at
    k.slot = math.max(k.slot, k.standing and C.now(k.standing, at) or at)
    k.floor = math.max(k.floor, k.slot)
  end
end,

-- Takes the units of n calls at the slot that was found. Every limit of the key counts
-- them, also one that the call does not name. A tag asks for a receipt.
book = function(k, n, tag)
  local limits, most, logged, q = k.limits, 0, false, k.queue
  for i = 1, #limits do
    local units = limits[i].cost * n
    if units > most then most = units end
  end
  if k.parts ~= limits then O.forget(k, true) end
  local parts = k.parts
  if q or tag > 0 or k.slot > k.v then
    queues()
    q = Q.enqueue(k, most, tag, n)
  end
  local tagged = q and q.tag > 0
  for i = 1, #parts do
    local l = parts[i]
    local kind, units = l.kind, l.named and l.cost * n or most
    if kind == 'w' then
      logged = true
    elseif units > 0 then
      if tagged then Q.note(k, l, q.seq) end
      if kind ~= 'g' then
        if kind == 'c' then N.counter_book(l, k.real, units) else F.window_book(l, k.real, units) end
      elseif l.named then
        F.gcra_book(l, k.floor, l.iw * n, l.ir * n)
      else
        F.gcra_book(l, k.floor, N.span(l, units))
      end
      if tagged and (l.new or kind ~= 'g') then Q.noted(k, l) end
      if l.left > 0 then others() O.bound(k, l) end
    end
  end
  if logged then
    local units = G.units(limits, n) or most
    if units > 0 then G.push(k.log, k.slot, units) end
  end
  if k.clock then
    k.clock = k.standing
    C.book(k.clock, k.slot, most, now)
  end
end,

save = function(k)
  local text, parts, born = '1', k.parts, k.born
  local n = #parts
  for i = 1, n do
    local l = parts[i]
    local kind, a, b, c, numbers = l.kind, l.a, l.b, l.c, nil
    if kind == 'g' then a = a > born and a - born or 0 end
    if kind == 'c' then
      numbers = string.format(l.opened + l.before > 0 and '%.0f.%.0f.%.0f.%.0f.%.0f' or '%.0f.%.0f.%.0f', a, b, c, l.opened, l.before)
    elseif l.opened > 0 then
      numbers = string.format('%.0f.%.0f.%.0f', a, b, l.opened)
    elseif b > 0 or kind ~= 'g' then
      numbers = string.format('%.0f.%.0f', a, b)
    else
      numbers = string.format('%.0f', a)
    end
    if l.left > 0 then numbers = string.format('%s~%.0f', numbers, l.left) end
    text = text .. l.spec .. '=' .. numbers .. (i < n and ';' or '|')
  end
  if n == 0 then text = '1|' end
  text = text .. (k.birth or F.str(born))
  if k.queue then text = text .. Q.save(k) end
  if k.clock then text = text .. '|c' .. C.save(k.clock) end
  if k.log then text = text .. G.save_value(k) end
  return text
end,

-- Writes the key. It lives until the state has lapsed, in milliseconds, rounded up, and
-- one more for servers that expire at the millisecond. Where units can be given back,
-- or limits are left out, it never lives shorter than it was told before.
write = function(k)
  local parts, v, at, newest = k.parts, 0, now, k.log and k.log.newest or 0
  if k.log and not G.save(k.log, parts) then k.log = false end
  for i = 1, #parts do
    local l = parts[i]
    local n = F.lapse(l, newest)
    if l.left > 0 or l.kind ~= 'g' and l.kind ~= 'w' then
      if l.left > 0 then n = l.left end
      if n > at then at = n end
    elseif n > v then
      v = n
    end
  end
  if k.queue and k.queue.last > v then v = k.queue.last end
  if k.clock then
    at = math.max(at, C.lapse(k.clock))
    v = C.real(k.clock, v)
  end
  if v > at then at = v end
  local px = at + 999 - now
  px = (px - px % 1000) / 1000 + 1 + longer
  if k.value and (k.queue or k.keeps or #parts > #k.limits) then px = math.max(px, redis.call('PTTL', KEYS[k.state])) end
  redis.call('SET', KEYS[k.state], F.save(k), 'PX', px)
  if k.log then redis.call('PEXPIRE', KEYS[k.list], px) end
end,
}
