-- Sliding windows: an exact log, shared by all sliding windows of a key. It is
-- a list of 't', 't:units' or, when the windows' costs differ, 't:units,units,…'
-- in order of t. State of each window: the units (u) of the newest k entries,
-- which are the live ones, the time of the newest, whether entries without
-- units of this window are among them (mixed), and when it was written, which
-- tells states apart that a cancel must not take for each other.
local log = lazy(function(log)
  log.fields = 5

  -- Time and units (for the j-th window) of an entry.
  function log.entry(e, j)
    if not e then rubbish('a log shorter than its state says') end
    if string.find(e, '^%d+$') and #e < 17 then return tonumber(e), 1 end
    local at, units = string.match(e, '^(%d+):([%d,]*%d)$')
    if not at or #e > 999 then rubbish('an entry of the log that is not a time and units') end
    local n
    for each in string.gmatch(units, '%d+') do
      n, j = each, j - 1
      if j == 0 then break end
    end
    at, n = tonumber(at), tonumber(n)
    -- Some servers' tonumber is nil for what is too long.
    if not at or not n or at >= 9007199254740992 or n > MOST then rubbish('an entry of the log out of bounds') end
    return at, n
  end

  -- Leaves out the oldest of k entries with u units until keep(t, u) is true. Most
  -- often that is the first, so that few are looked at at once to begin with.
  local function trim(key, j, k, u, keep)
    local size = 1
    while k > 0 do
      local part = redis.call('LRANGE', key, str(-k), str(math.min(size - 1 - k, -1)))
      size = math.min(4 * size, 64)
      for i = 1, #part do
        local t, n = log.entry(part[i], j)
        if keep(t, u) then return k, u end
        k, u = k - 1, u - n
      end
    end
    return 0, 0
  end

  function log.fresh(l) l.k = nil end

  function log.load(l, v)
    l.u, l.k, l.newest, l.mixed = v[1], v[2], v[3], v[4] > 0 and 1 or nil
  end

  function log.adapt(l) l.k = nil end

  function log.check() end

  -- Finds the live entries; without state of its own, counts them all.
  function log.open(l, g, now)
    if not l.k or l.k > g.len or l.newest ~= g.newest then
      l.k, l.u, l.mixed = g.len, 0, nil
      if g.len > 0 then
        for _, e in ipairs(redis.call('LRANGE', g.log, '0', '-1')) do
          local _, n = log.entry(e, l.j)
          l.u = l.u + n
          if n == 0 then l.mixed = 1 end
        end
      end
    end
    l.k, l.u = trim(g.log, l.j, l.k, l.u, function(t) return t + l.p > now end)
    if l.k == 0 then l.mixed = nil end
  end

  function log.slot(l, b, g)
    b = math.max(b, g.newest)
    local most = l.max - l.c
    if l.u <= most then return b, b end
    local t
    if l.u == l.k and not l.mixed then
      t = log.entry(redis.call('LINDEX', g.log, str(-most - 1)), l.j)
    else
      trim(g.log, l.j, l.k, l.u, function(at, u)
        if u <= most then return true end
        t = at
      end)
    end
    if not t then rubbish('a log shorter than its state says') end
    if t > g.newest then rubbish('a log out of order') end
    b = math.max(b, t + l.p)
    return b, b
  end

  function log.book(l)
    l.u, l.k = l.u + l.c, l.k + 1
    if l.c == 0 then l.mixed = 1 end
  end

  function log.save(l, g, now)
    return table.concat({ str(l.u), str(l.k), str(g.newest), l.mixed and '1' or '0', str(now) }, '.')
  end

  function log.lapse(l, g) return g.newest + l.p end

  function log.ahead(l, g) return g.newest end

  function log.shift() end

  function log.clamp() end

  function log.void() end

  -- The newest entry need not have units of every window.
  function log.view(l, g)
    if l.u <= 0 then return 0, 0, 0 end
    for i = 1, l.k do
      local t, n = log.entry(redis.call('LINDEX', g.log, str(-i)), l.j)
      if n > 0 then return l.u, t, 0 end
    end
  end

  -- The text of an entry: the units of each sliding window of the key, in field.
  local function text(g, s, field)
    local units, same = {}, true
    for _, l in ipairs(g.limits) do
      if l.alg == log then
        units[#units + 1] = str(l[field])
        same = same and units[#units] == units[1]
      end
    end
    if not same then return str(s) .. ':' .. table.concat(units, ',') end
    return units[1] == '1' and str(s) or str(s) .. ':' .. units[1]
  end

  -- Writes one entry for all sliding windows of the key and forgets what is
  -- expired for every one of them.
  function log.append(g, s)
    local most = 0
    for _, l in ipairs(g.limits) do
      if l.alg == log then most = math.max(most, l.k) end
    end
    redis.call('RPUSH', g.log, text(g, s, 'c'))
    if most <= g.len then redis.call('LTRIM', g.log, str(-most), '-1') end
    g.newest = s
  end

  local function replace(g, all)
    redis.call('DEL', g.log)
    for _, e in ipairs(all) do redis.call('RPUSH', g.log, e) end
  end

  -- The log is of windows that were left out of a call, and start fresh.
  function log.forget(g, peek)
    if not peek then redis.call('DEL', g.log) end
    g.len, g.newest = 0, 0
  end

  -- When the windows of a key have changed, their units are in other places of the
  -- entries: each counts by its own, a new one by those of the longest window.
  function log.arrange(g, list, peek)
    local at, longest, n = {}, nil, 0
    for _, old in ipairs(list) do
      if old.alg == log then
        n = n + 1
        at[old.spec] = at[old.spec] or n
        if not longest or old.p > longest.p then longest = { p = old.p, n = n } end
      end
    end
    local same = true
    for _, l in ipairs(g.limits) do
      if l.alg == log then
        l.from = at[l.spec] or longest and longest.n or 1
        same = same and l.from == l.j
      end
    end
    if same then return end
    if peek then
      for _, l in ipairs(g.limits) do l.j = l.from end
      return
    end
    local all = redis.call('LRANGE', g.log, '0', '-1')
    for i, e in ipairs(all) do
      local t
      for _, l in ipairs(g.limits) do
        if l.alg == log then t, l.n = log.entry(e, l.from) end
      end
      if t then all[i] = text(g, t, 'n') end
    end
    replace(g, all)
  end

  -- Moves entries to other times: all by the same, as the server's clock stepped
  -- back, or those of later slots to now, as limits that were waited for are gone.
  function log.rewrite(g, move)
    local all = redis.call('LRANGE', g.log, '0', '-1')
    for i, e in ipairs(all) do
      local t = log.entry(e, 1)
      all[i] = str(math.max(move(t), 0)) .. string.match(e, ':?[%d,]*$', #string.match(e, '^%d+') + 1)
    end
    replace(g, all)
    g.newest = move(g.newest)
  end

  -- Finds the newest entry at time s with the units that were booked, or nil.
  local function locate(g, s)
    local low, high = 0, g.len -- the first one after s is in between
    while low < high do
      local middle = math.floor((low + high) / 2)
      local t = log.entry(redis.call('LINDEX', g.log, str(middle)), 1)
      if t <= s then low = middle + 1 else high = middle end
    end
    for i = low - 1, 0, -1 do
      local e = redis.call('LINDEX', g.log, str(i))
      local match = log.entry(e, 1) == s
      if not match then return end
      for _, l in ipairs(g.limits) do
        if l.alg == log then
          local _, n = log.entry(e, l.j)
          match = match and n == l.c
        end
      end
      if match then return i end
    end
  end

  -- Corrects the entry of a booking at s in all sliding windows, or takes it out
  -- when nothing is left of it. Units that are more than was booked expire with
  -- the others, so a log may hold more than the rate.
  function log.settle_all(g, s, now)
    local left, live = 0, false
    for _, l in ipairs(g.limits) do
      if l.alg == log then
        live = live or s + l.p > now
        l.left = l.a
        if l.a > l.c then l.left = math.min(l.a, l.c + math.max(UNITS - l.u, 0)) end
        left = left + l.left
      end
    end
    local i = live and locate(g, s)
    if not i then return false end
    if left > 0 then
      redis.call('LSET', g.log, str(i), text(g, s, 'left'))
    else
      redis.call('LSET', g.log, str(i), '')
      redis.call('LREM', g.log, '-1', '')
      g.len = g.len - 1
      g.newest = g.len > 0 and log.entry(redis.call('LINDEX', g.log, '-1'), 1) or 0
    end
    for _, l in ipairs(g.limits) do
      if l.alg == log and s + l.p > now then
        l.u = l.u + l.left - l.c
        if left == 0 then l.k = l.k - 1 elseif l.left == 0 then l.mixed = 1 end
      end
    end
    return true
  end
end)
