-- Fixed windows. State: the start of the last window and its count; and, once
-- units were booked that may be settled, when the first of them were (since),
-- which tells the window from one after a reset; and, if there were any, how many
-- units of debt were of windows before it (lost). Nobody can book in those, but
-- who undoes what is booked after them must not bring them back without. While the
-- window is still to come, the start and the count of the one until then follow
-- (present, used), which it is again when nobody comes.
local fixed = lazy(function(fixed)
  fixed.fields = 2

  function fixed.fresh(l) l.start, l.n, l.since, l.lost, l.present, l.used = 0, 0, nil, 0, 0, 0 end

  function fixed.load(l, v)
    l.start, l.n, l.since, l.lost, l.present, l.used = v[1], v[2], v[3], v[4] or 0, v[5] or 0, v[6] or 0
    if l.since == 0 then l.since = nil end
  end

  function fixed.check_count(l, n)
    if n > UNITS then rubbish('a count out of bounds') end
  end

  function fixed.check(l)
    fixed.check_count(l, l.n)
    fixed.check_count(l, l.used)
  end

  function fixed.adapt(l, old, now)
    l.n, l.since, l.used = math.min(l.n, l.max), nil, 0
  end

  function fixed.slot(l, b)
    b = math.max(b, l.start)
    if l.n + l.c > l.max and b < l.start + l.p then b = l.start + l.p end
    return b, b
  end

  function fixed.book(l, _, s, keep, now)
    if l.n == 0 or s >= l.start + l.p then
      if l.start <= now then l.present, l.used = l.start, l.n end
      l.start, l.n, l.since, l.lost = l.alg.opens(l, s), 0, nil, 0
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

  function fixed.miss(l, s, now) return fixed.lose(l, l.start, s + l.p, s, now) end

  function fixed.since(l) return l.since end

  function fixed.with_since(l, text)
    if l.since then text = text .. '.' .. str(l.since) end
    if l.since and l.lost > 0 then text = text .. '.' .. str(l.lost) end
    return text
  end

  function fixed.save(l, _, now)
    local text = str(l.start) .. '.' .. str(l.n)
    if l.start <= now or l.used == 0 then return fixed.with_since(l, text) end
    return table.concat({ text, str(l.since or 0), str(l.lost), str(l.present), str(l.used) }, '.')
  end

  function fixed.lapse(l) return l.start + l.p end

  function fixed.ahead(l) return l.start end

  function fixed.shift(l, by)
    l.start, l.since, l.present = math.max(l.start - by, 0), nil, math.max((l.present or 0) - by, 0)
  end

  -- Whether the window until then is that of now.
  function fixed.again(l, now)
    if l.start <= now or (l.used or 0) == 0 or now >= l.present + l.p then return false end
    l.start, l.n, l.since, l.used = l.present, l.used, nil, 0
    return true
  end

  function fixed.clamp(l, now)
    if not fixed.again(l, now) then l.start = math.min(l.start, now) end
  end

  function fixed.view(l) return l.start, l.n, 0 end
end)

-- Aligned windows: the same, but for where a window starts.
local aligned = lazy(function(aligned)
  setmetatable(aligned, { __index = fixed })

  -- The units of an old window count when it began in the new one.
  function aligned.adapt(l, old, now)
    local start = align(now, l.p)
    l.n, l.since, l.used = l.start < start and 0 or math.min(l.n, l.max), nil, 0
    l.start = math.max(start, align(l.start, l.p))
  end

  function aligned.opens(l, s) return align(s, l.p) end

  function aligned.shift(l, by)
    fixed.shift(l, by)
    l.start, l.present = align(l.start, l.p), align(l.present, l.p)
  end

  function aligned.clamp(l, now)
    if not fixed.again(l, now) then l.start = math.min(l.start, align(now, l.p)) end
  end
end)

-- Sliding counters. State: the start of the last window, its count and the
-- count of the one before; and since and lost, as of a window, of both.
local counter = lazy(function(counter)
  setmetatable(counter, { __index = aligned })
  counter.fields = 3

  local function roll(start, cur, prev, p, t)
    if t < start + p then return start, cur, prev end
    if t < start + 2 * p then return start + p, 0, cur end
    return align(t, p), 0, 0
  end

  function counter.fresh(l) l.start, l.cur, l.prev, l.since, l.lost = 0, 0, 0, nil, 0 end

  function counter.load(l, v)
    l.start, l.cur, l.prev, l.since, l.lost = v[1], v[2], v[3], v[4], v[5] or 0
  end

  function counter.check(l)
    fixed.check_count(l, l.cur)
    fixed.check_count(l, l.prev)
  end

  function counter.adapt(l, old, now)
    l.since = nil
    if l.p == old.p then
      l.cur, l.prev = math.min(l.cur, l.max), math.min(l.prev, l.max)
      return
    end
    local began, cur, prev = roll(l.start, l.cur, l.prev, old.p, now)
    local left = math.min(began + old.p - now, old.p)
    if prev > 0 then cur = cur + muldiv(math.min(prev, old.max), left, old.p) + 1 end
    l.start, l.prev = align(now, l.p), 0
    l.cur = began < l.start and 0 or math.min(cur, l.max)
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
    if s >= l.start + l.p then l.lost = 0 end
    l.start, l.cur, l.prev = roll(l.start, l.cur, l.prev, l.p, s)
    if l.cur + l.prev == 0 then l.since = nil end
    l.cur, l.since = l.cur + l.c, l.since or keep and now or nil
  end

  function counter.settle(l, s, now)
    if s >= l.start + l.p or s < l.start - l.p or now >= align(s, l.p) + 2 * l.p then return false end
    if s >= l.start then l.cur = fixed.settled(l, l.cur) else l.prev = fixed.settled(l, l.prev) end
    return true
  end

  function counter.miss(l, s, now) return fixed.lose(l, l.start - l.p, align(s, l.p) + 2 * l.p, s, now) end

  function counter.save(l)
    return fixed.with_since(l, str(l.start) .. '.' .. str(l.cur) .. '.' .. str(l.prev))
  end

  function counter.lapse(l) return l.start + 2 * l.p end

  function counter.view(l) return l.start, l.cur, l.prev end
end)
