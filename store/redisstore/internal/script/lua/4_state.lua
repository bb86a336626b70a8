-- The value of a key, version 1:
--
--   1limit=numbers;limit=numbers|birth|q…|c…|l…
--
--   part     numbers                       present
--   gcra     tat.rest                      tat after the birth; rest where it is not 0
--   window   start.units.opened            opened where the queue has a tag
--   counter  start.units.before.opened.opened
--   sliding  entries.units                 before the first live entry, see the log
--   birth                                  when the state was first written
--   |q       last.first.cost.tag.seq.at    slots are ahead, or can be given back;
--            ,seq.slack.rest…              then the credit of each gcra, see exact.Credit
--   |c       see the clock                 a brake was set
--   |l       see the log                   a limit is a sliding window
--
-- last and first count from the birth, at is the server's time of the last booking. See
-- exact.Queue and exact.Part for the other names.

-- Reads the numbers of a limit at place i, and returns the place behind them.
local function load_part(l, value, i, born)
  local a, b, c, j = match(value, '^(%d+)%.?(%d*)%.?(%d*)()', i)
  if not a or #a > 16 or #b > 16 or #c > 16 then rubbish('a limit without its numbers') end
  l.a, l.b, l.c, l.opened, l.before, l.grades = a + 0, b ~= '' and b + 0 or 0, c ~= '' and c + 0 or 0, 0, 0, nil
  if l.kind == 'c' then
    if byte(value, j) == 46 then
      local x, y, e = match(value, '^%.(%d+)%.(%d+)()', j)
      if not x then rubbish('a limit without its numbers') end
      l.opened, l.before, j = x + 0, y + 0, e
    end
  elseif l.kind ~= 'g' and l.kind ~= 'w' then
    l.opened, l.c = l.c, 0
  elseif l.kind == 'g' and l.b >= l.q then
    rubbish('a rest of a microsecond over its limit')
  end
  if max(l.a, l.b, l.c) >= LARGEST or (l.kind ~= 'g' and l.kind ~= 'w' and max(l.b, l.c) > MOST_UNITS) then rubbish('a number out of bounds') end
  return j
end

local function load_queue(k, text)
  local numbers, rest = match(text, '^([%d.]+)(.*)$')
  local last, first, cost, tag, seq, at = match(numbers or '', '^(%d+)%.(%d+)%.(%d+)%.(%d+)%.(%d+)%.(%d+)$')
  if not last or #numbers > 96 then rubbish('a queue that is not weir\'s') end
  local q = { last = last + 0, first = first + 0, cost = cost + 0, tag = tag + 0, seq = seq + 0, at = at + 0 }
  if max(q.last, q.first, q.tag, q.seq, q.at) >= LARGEST or q.cost > MOST then rubbish('a queue out of bounds') end
  if q.last > 0 then q.last = k.born + q.last end
  if q.first > 0 then q.first = k.born + q.first end
  k.queue = q
  if rest == '' then return end
  local more = string.gmatch(rest, ',([%d.]*)')
  for _, l in ipairs(k.parts) do
    local grades = l.kind == 'g' and more()
    if grades and grades ~= '' then
      l.grades = {}
      for s, w, r in string.gmatch(grades, '(%d+)%.(%d+)%.(%d+)') do
        l.grades[#l.grades + 1] = { tonumber(s), tonumber(w), tonumber(r) }
      end
    end
  end
end

local function load_log(k, text)
  local g, i = log_new(k, k.list), 0
  for n in string.gmatch(text, '%d+') do
    i = i + 1
    g[LOG[i] or 'other'] = tonumber(n)
  end
  if i ~= #LOG then rubbish('a log of another length') end
  for _, name in ipairs(LOG) do
    if not g[name] or g[name] >= LARGEST then rubbish('a log out of bounds') end
  end
  if g.first > g.n then rubbish('a log out of bounds') end
  if g.newest > 0 then g.newest = k.born + g.newest end
  k.log = g
end

-- Reads the optional parts behind the birth.
local function load_rest(k, value, i)
  for kind, text in string.gmatch(sub(value, i), '|(%a)([^|]*)') do
    if kind == 'q' then load_queue(k, text)
    elseif kind == 'c' then k.clock = clock_load(text)
    elseif kind == 'l' then load_log(k, text)
    else rubbish('an unknown part') end
  end
end

-- Reads a value whose limits are not just those that the call names, in their order.
local function load_other(k, value, limits)
  local list, born, i = match(value, '^1([^|]*)|(%d+)()')
  if not list or #born > 16 then
    rubbish(match(value, '^%d') and 'a value of another version' or 'a value that is not weir\'s')
  end
  k.born, k.parts = born + 0, {}
  for spec, numbers in string.gmatch(list, '([^;=]+)=([%d.]+)') do
    local l
    for _, own in ipairs(limits) do
      if own.spec == spec then l = own end
    end
    l = l or rule(spec)
    l.named = l.need ~= nil
    load_part(l, numbers, 1, k.born)
    if l.kind == 'g' then l.a = l.a + k.born end
    k.parts[#k.parts + 1] = l
    if #k.parts > 64 then rubbish('too many limits') end
  end
  load_rest(k, value, i)
end

-- Reads the key at KEYS[state], with its log at KEYS[list] where the call names one.
local function load(state, list, limits, now)
  local k = { state = state, list = list, now = now, born = now, parts = limits }
  local value = redis.call('GET', KEYS[state])
  if not value then
    k.fresh, k.parts = true, {}
  else
    local i = 2
    for n = 1, #limits do
      local l = limits[n]
      local ends = i + #l.spec
      if byte(value, 1) ~= 49 or sub(value, i, ends) ~= l.spec .. '=' then i = nil break end
      i = load_part(l, value, ends + 1)
      if n < #limits then
        if byte(value, i) ~= 59 then i = nil break end
        i = i + 1
      end
    end
    local born, ends
    if i and limits[1] then born, ends = match(value, '^|(%d+)()', i) end
    if born then
      k.born = born + 0
      for n = 1, #limits do
        if limits[n].kind == 'g' then limits[n].a = limits[n].a + k.born end
      end
      if ends <= #value then load_rest(k, value, ends) end
    else
      load_other(k, value, limits)
    end
  end
  k.value = value
  if list then
    local n = redis.call('LLEN', KEYS[list])
    if n ~= (k.log and k.log.n - k.log.first or 0) then rubbish('a log apart from its value') end
  elseif k.log then
    k.apart = true -- The log is not among KEYS: the call has to come again with it.
  end
  return k
end

local function save_part(k, l)
  local a = l.kind == 'g' and max(l.a - k.born, 0) or l.a
  local text = l.spec .. '=' .. str(a)
  if l.kind == 'g' then
    if l.b > 0 then text = text .. '.' .. str(l.b) end
  else
    text = text .. '.' .. str(l.b)
    if l.kind == 'c' then text = text .. '.' .. str(l.c) end
    if l.opened > 0 or l.before > 0 then
      text = text .. '.' .. str(l.opened)
      if l.kind == 'c' then text = text .. '.' .. str(l.before) end
    end
  end
  return text
end

local function save_queue(k)
  local q = k.queue
  if not q or (q.tag == 0 and q.last <= k.v) then return '' end
  local list = {
    '|q' .. str(q.last > 0 and q.last - k.born or 0), str(q.first > 0 and q.first - k.born or 0), str(q.cost), str(q.tag), str(q.seq), str(q.at),
  }
  local text = concat(list, '.')
  for _, l in ipairs(k.parts) do
    if l.kind == 'g' and q.tag > 0 then
      local grades = {}
      for i, e in ipairs(l.grades or {}) do grades[i] = str(e[1]) .. '.' .. str(e[2]) .. '.' .. str(e[3]) end
      text = text .. ',' .. concat(grades, '.')
    end
  end
  return text
end

local function save(k)
  local text, parts = nil, k.parts
  for i = 1, #parts do
    text = text and text .. ';' .. save_part(k, parts[i]) or '1' .. save_part(k, parts[i])
  end
  text = (text or '1') .. '|' .. str(k.born)
  if k.queue then text = text .. save_queue(k) end
  if k.clock then text = text .. '|c' .. clock_save(k.clock) end
  local g = k.log
  if g then
    text = text .. '|l' .. concat({ str(g.first), str(g.n), str(g.newest > 0 and g.newest - k.born or 0), str(g.sum), str(g.gone), str(g.start), str(g.tail) }, '.')
  end
  return text
end

-- The server's time from which the key is as if never used.
local function lapse_key(k)
  local v, at = 0, k.now
  local newest = k.log and k.log.newest or 0
  for i = 1, #k.parts do
    local l = k.parts[i]
    local n = lapse(l, newest)
    if l.kind == 'g' or l.kind == 'w' then v = max(v, n) else at = max(at, n) end
  end
  if k.queue then v = max(v, k.queue.last) end
  if k.clock then at = max(at, clock_lapse(k.clock)) end
  return max(at, clock_real(k.clock, v))
end

-- Writes the key. It lives until the state has lapsed, in milliseconds, rounded up, and
-- one more for servers that expire at the millisecond. Where units can be given back,
-- or limits are left out, it never lives shorter than it was told before.
local function write(k, longer)
  if k.log then log_write(k.log, k.parts) end
  local px = max(floor((lapse_key(k) + 999 - k.now) / 1000), 0) + 1 + longer
  if k.value and (k.queue or #k.parts > #k.limits or k.keeps) then
    px = max(px, redis.call('PTTL', KEYS[k.state]))
  end
  redis.call('SET', KEYS[k.state], save(k), 'PX', str(px))
  if k.log then redis.call('PEXPIRE', KEYS[k.list], str(px)) end
end
