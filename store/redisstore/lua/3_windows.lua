-- Fixed windows. State: the start of the last window and its count; and, once
-- units were booked that may be settled, when the first of them were (since),
-- which tells the window from one after a reset; and, if there were any, how many
-- units of debt were of windows before it (lost). Nobody can book in those, but
-- who undoes what is booked after them must not bring them back without. While the
-- window is still to come, the start and the count of the one until then follow
-- (present, used), which it is again when nobody comes, when the first unit that may
-- be settled of that was booked (been), and where the first window after it starts.
local fixed = lazy(function(fixed)
  fixed.fields = 2

  function fixed.fresh(l)
    l.start, l.n, l.since, l.lost, l.present, l.used, l.been, l.first = 0, 0, nil, 0, 0, 0, nil, 0
  end

  function fixed.load(l, v)
    l.start, l.n, l.since, l.lost, l.present, l.used = v[1], v[2], v[3], v[4] or 0, v[5] or 0, v[6] or 0
    l.been, l.first = v[7], v[8] or l.start
    if l.since == 0 then l.since = nil end
    if l.been == 0 then l.been = nil end
  end

  function fixed.check_count(l, n)
    if n > UNITS then rubbish('a count out of bounds') end
  end

  function fixed.check(l)
    fixed.check_count(l, l.n)
    fixed.check_count(l, l.used)
  end

  -- Leaves what is used now by the limit that was, and returns what is booked for later.
  function fixed.arrive(l, old, now)
    local p, max, ahead = l.p, l.max, l.start > now and (l.cur or l.n) or 0
    l.p, l.max = old.p, old.max
    l.alg.clamp(l, now, false)
    l.p, l.max, l.since = p, max, nil
    return ahead
  end

  function fixed.adapt(l, old, now)
    local ahead = fixed.arrive(l, old, now)
    l.n = math.min(l.n + ahead, l.max)
  end

  function fixed.slot(l, b)
    b = math.max(b, l.start)
    if l.n + l.c > l.max and b < l.start + l.p then b = l.start + l.p end
    return b, b
  end

  function fixed.book(l, _, s, keep, now)
    if l.n == 0 or s >= l.start + l.p then
      local present = l.start <= now
      if present then l.present, l.used, l.been = l.start, l.n, l.since end
      l.start, l.n, l.since, l.lost = l.alg.opens(l, s), 0, nil, 0
      if present then l.first = l.start end
    end
    l.n, l.since = l.n + l.c, l.since or keep and now or nil
  end

  function fixed.opens(l, s) return s end

  -- What settling leaves of n units.
  function fixed.settled(l, n) return math.min(math.max(n + l.a - l.c, 0), math.max(n, UNITS)) end

  function fixed.settle(l, s, now)
    local over = l.start + l.p
    if s < l.start or s >= over or now >= over then return false end
    l.n = fixed.settled(l, l.n)
    return true
  end

  -- Notes debt of a window that is not the last; false if there is none.
  function fixed.lose(l, first, over, s, now)
    if l.a <= l.c or s >= first or now >= over then return false end
    l.lost = math.min(l.lost + l.a - l.c, UNITS)
    return true
  end

  -- Corrects a window that is not the last.
  function fixed.miss(l, s, now, old)
    local over = l.present + l.p
    if l.start > now and l.been and old and l.been == old.since and s >= l.present and s < math.min(over, l.first) and now < over then
      l.used = fixed.settled(l, l.used)
      return true
    end
    return fixed.lose(l, l.start, s + l.p, s, now)
  end

  function fixed.recede(l, last) l.alg.clamp(l, last, false) end

  function fixed.since(l) return l.since end

  function fixed.with_since(l, text)
    if l.since then text = text .. '.' .. str(l.since) end
    if l.since and l.lost > 0 then text = text .. '.' .. str(l.lost) end
    return text
  end

  function fixed.save(l, _, now)
    local text = str(l.start) .. '.' .. str(l.n)
    if l.start <= now then return fixed.with_since(l, text) end
    local v = { l.since or 0, l.lost, l.present, l.used, l.been or 0, l.first }
    for i = 1, #v do text = text .. '.' .. str(v[i]) end
    return text
  end

  function fixed.lapse(l) return l.start + l.p end

  function fixed.ahead(l) return l.start end

  function fixed.shift(l, by)
    l.since, l.been = nil, nil
    for _, field in ipairs({ 'start', 'present', 'first' }) do l[field] = math.max(l[field] - by, 0) end
  end

  -- Where one of the windows between the present one and the last starts. When it ends
  -- is known of the first and the last but one.
  local function between(l, now)
    if now < l.first + l.p then return l.first end
    return now >= l.start - l.p and l.start - l.p or now
  end

  -- Makes a window that is still to come that of now: what was booked for later does
  -- not count any more, or as used now. Of the windows in between only the last is
  -- known, and where one follows another it is full.
  function fixed.clamp(l, now, counts)
    if l.start <= now then return end
    local ahead = counts and l.n or 0
    l.lost = 0
    if l.used > 0 and now >= l.present and now < l.present + l.p then
      l.start, l.n, l.since = l.present, l.used, l.been
    elseif now >= l.first then
      l.start, l.n, l.since = l.alg.opens(l, between(l, now)), l.max, nil
    else
      l.start, l.n, l.since = l.alg.opens(l, now), 0, nil
    end
    l.n = math.min(l.n + ahead, math.max(l.n, l.max))
  end

  -- Takes what is booked for later in the present window back as well.
  function fixed.void(l, now, units)
    l.alg.clamp(l, now, false)
    l.n = math.max(l.n - units(l.start + l.p), 0)
  end

  function fixed.view(l) return l.start, l.n, 0 end
end)

-- Aligned windows: the same, but for where a window starts.
local aligned = lazy(function(aligned)
  setmetatable(aligned, { __index = fixed })

  -- The units of an old window count when it began in the new one.
  function aligned.adapt(l, old, now)
    local start, ahead = align(now, l.p), fixed.arrive(l, old, now)
    if l.start < start then l.n = 0 end
    l.start, l.n = start, math.min(l.n + ahead, l.max)
  end

  function aligned.opens(l, s) return align(s, l.p) end

  function aligned.shift(l, by)
    fixed.shift(l, by)
    for _, field in ipairs({ 'start', 'present', 'first' }) do l[field] = align(l[field], l.p) end
  end
end)

-- Sliding counters. State: the start of the last window, its count and the
-- count of the one before; and since and lost, as of a window, of both. While the
-- window is still to come, the same of the one until then follow (present, used,
-- before), and where the first window after it starts.
local counter = lazy(function(counter)
  setmetatable(counter, { __index = aligned })
  counter.fields = 3

  local function roll(start, cur, prev, p, t)
    if t < start + p then return start, cur, prev end
    if t < start + 2 * p then return start + p, 0, cur end
    return align(t, p), 0, 0
  end

  function counter.fresh(l)
    l.start, l.cur, l.prev, l.since, l.lost = 0, 0, 0, nil, 0
    l.present, l.used, l.before, l.first = 0, 0, 0, 0
  end

  function counter.load(l, v)
    l.start, l.cur, l.prev, l.since, l.lost = v[1], v[2], v[3], v[4], v[5] or 0
    l.present, l.used, l.before, l.first = v[6] or 0, v[7] or 0, v[8] or 0, v[9] or 0
    if l.since == 0 then l.since = nil end
  end

  function counter.check(l)
    for _, field in ipairs({ 'cur', 'prev', 'used', 'before' }) do fixed.check_count(l, l[field]) end
  end

  function counter.adapt(l, old, now)
    local ahead = fixed.arrive(l, old, now)
    if l.p == old.p then
      l.cur, l.prev = math.min(l.cur + ahead, l.max), math.min(l.prev, l.max)
      return
    end
    local began, cur, prev = roll(l.start, l.cur, l.prev, old.p, now)
    local left = math.min(began + old.p - now, old.p)
    if prev > 0 then cur = cur + muldiv(math.min(prev, old.max), left, old.p) + 1 end
    l.start, l.prev = align(now, l.p), 0
    l.cur = math.min((began < l.start and 0 or cur) + ahead, l.max)
  end

  function counter.slot(l, b)
    local start, cur, prev = roll(l.start, l.cur, l.prev, l.p, b)
    if b < start then b = start end
    local room = l.max - cur - l.c
    if room < 0 then
      start, prev, room = start + l.p, cur, l.max - l.c
      b = start
    end
    if prev > room and not product_le(prev, l.p - (b - start), room, l.p) then
      b = start + l.p - muldiv(room, l.p, prev)
    end
    return b, b
  end

  function counter.book(l, _, s, keep, now)
    if s >= l.start + l.p then
      l.lost = 0
      if l.start <= now then l.present, l.used, l.before, l.first = l.start, l.cur, l.prev, align(s, l.p) end
    end
    l.start, l.cur, l.prev = roll(l.start, l.cur, l.prev, l.p, s)
    if l.cur + l.prev == 0 then l.since = nil end
    l.cur, l.since = l.cur + l.c, l.since or keep and now or nil
  end

  function counter.settle(l, s, now)
    local window, field = align(s, l.p), nil
    if window == l.start then field = 'cur'
    elseif window == l.start - l.p then field = 'prev'
    elseif l.start > now and window == l.present then field = 'used'
    elseif l.start > now and window == l.present - l.p then field = 'before' end
    if not field or now >= window + 2 * l.p then return false end
    l[field] = fixed.settled(l, l[field])
    return true
  end

  function counter.miss(l, s, now) return fixed.lose(l, l.start - l.p, align(s, l.p) + 2 * l.p, s, now) end

  function counter.save(l, _, now)
    local text = str(l.start) .. '.' .. str(l.cur) .. '.' .. str(l.prev)
    if l.start <= now then return fixed.with_since(l, text) end
    local v = { l.since or 0, l.lost, l.present, l.used, l.before, l.first }
    for i = 1, #v do text = text .. '.' .. str(v[i]) end
    return text
  end

  -- The units of a window; all there can be of those in between.
  local function units(l, start)
    if start == l.start - l.p then return l.prev end
    if start == l.present then return l.used end
    if start == l.present - l.p then return l.before end
    return start < l.first and 0 or l.max
  end

  function counter.clamp(l, now, counts)
    local start, ahead = align(now, l.p), counts and l.cur or 0
    if l.start <= start then return end
    l.start, l.cur, l.prev = start, units(l, start), units(l, start - l.p)
    l.cur = math.min(l.cur + ahead, math.max(l.cur, l.max))
  end

  function counter.void(l, now, units)
    counter.clamp(l, now, false)
    l.cur = math.max(l.cur - units(l.start + l.p), 0)
  end

  function counter.lapse(l) return l.start + 2 * l.p end

  function counter.view(l) return l.start, l.cur, l.prev end
end)
