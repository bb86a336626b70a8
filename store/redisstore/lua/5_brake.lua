-- A brake: what holds a key back beside its limits (see exact.Brake, which
-- works alike). It is the end of the key's value, '!' and numbers, of which the last
-- up to four are the instants at which slots were made void. While the key is
-- paused, '!' follows and, with ';' between, when the pause was set and what the
-- state of each limit was then (still): nothing is used until the pause ends, so that
-- when the slots that were booked for after it are made void the states are those
-- again. Of a sliding window the log tells.
local brake = lazy(function(brake)
  brake.VOID_FROM = 100000
  local MOST_GAP, LEAST_SHARE, VOID_FOR, MOST_VOIDS = 1e12, 64, 5000000, 4
  local fields = { 'at', 'pause', 'next', 'gap', 'ends', 'unit', 'recovery', 'share', 'cut', 'void' }

  -- Splits a value into what is before the brake, and the brake; nil without one.
  function brake.load(value)
    local rest, text, still = string.match(value, '^([^!]*)!([%d.]+)(!?[%d.;]*)$')
    if not rest then return value, nil end
    local k, v = { voids = {} }, split(text, '[^.]+')
    if #v < #fields or #v > #fields + MOST_VOIDS then rubbish('a brake of another length') end
    for i = 1, #v do
      local n = tonumber(v[i])
      if not n or n >= 9007199254740992 then rubbish('a brake out of bounds') end
      if fields[i] then k[fields[i]] = n else k.voids[i - #fields] = n end
    end
    if math.max(k.gap, k.unit) > MOST_GAP or k.recovery > 4e14 or (k.unit > 0 and math.min(k.share, k.recovery) < 1)
      or math.max(k.pause, k.next, k.ends, k.void) > k.at + 1e15 then
      rubbish('a brake out of bounds')
    end
    if still ~= '' then
      local at, states = string.match(still, '^!(%d+);(.+)$')
      at = at and tonumber(at)
      if not at or at >= 9007199254740992 then rubbish('a pause out of bounds') end
      k.still = split(states, '[^;]+')
      k.still.at = at
    end
    return rest, k
  end

  function brake.none(now)
    local k = { voids = {} }
    for _, field in ipairs(fields) do k[field] = 0 end
    k.at = now
    return k
  end

  -- Whether a brake is more than what is remembered of void slots.
  function brake.sets(k)
    for i = 2, #fields - 1 do
      if k[fields[i]] ~= 0 then return true end
    end
    return false
  end

  -- What is left of a brake that is lifted: nil when no void slot matters.
  function brake.lift(k, now)
    if k.void <= now then return end
    local left = brake.none(now)
    left.void, left.voids = k.void, k.voids
    return left
  end

  function brake.save(k)
    local v = {}
    for i, field in ipairs(fields) do v[i] = str(k[field]) end
    for i, at in ipairs(k.voids) do v[#fields + i] = str(at) end
    local text = '!' .. table.concat(v, '.')
    if not k.still then return text end
    return text .. '!' .. str(k.still.at) .. ';' .. table.concat(k.still, ';')
  end

  local function share_at(k, at) return k.share + math.max(at - k.cut, 0) end

  function brake.told(k, at) return at < k.ends and k.gap or 0 end

  function brake.spacing(k, at)
    local gap = brake.told(k, at)
    if k.unit > 0 then
      local share = share_at(k, at)
      if share < k.recovery then gap = math.max(gap, muldiv(k.unit, k.recovery, share) + 1) end
    end
    return gap
  end

  function brake.from(k, b) return math.max(b, k.pause, k.next) end

  -- The instant from which units need not be apart.
  local function pace_ends(k)
    return k.unit > 0 and math.max(k.ends, k.cut + k.recovery - k.share) or k.ends
  end

  -- Units keep others away until the pace ends, one for its gap at the least.
  function brake.book(k, slot, cost)
    local gap = brake.spacing(k, slot)
    if gap == 0 then return end
    local ahead = cost <= MOST_GAP / gap and gap * cost or MOST_GAP
    k.next = slot + math.min(ahead, math.max(pace_ends(k) - slot, gap))
  end

  function brake.lapse(k) return math.max(k.pause, k.next, pace_ends(k), k.void) end

  -- What is left of a brake: nil when it has lapsed. One from the future steps
  -- back with the clock.
  function brake.since(k, now)
    if not k then return end
    local back = k.at - now
    if back > 0 then
      for _, field in ipairs({ 'at', 'pause', 'next', 'ends', 'cut', 'void' }) do
        k[field] = math.max(k[field] - back, 0)
      end
      for i, at in ipairs(k.voids) do k.voids[i] = math.max(at - back, 0) end
    end
    if back > 0 or k.pause <= now then k.still = nil end
    if brake.lapse(k) > now then return k end
  end

  local function cut(k, o, unit, now)
    if k.unit > 0 and k.cut >= o.since and share_at(k, now) < k.recovery then return false end
    local recovery = math.max(o.recovery, LEAST_SHARE)
    local share = recovery
    if k.unit > 0 then share = muldiv(math.min(share_at(k, now), k.recovery), recovery, k.recovery) end
    k.unit, k.recovery, k.cut = unit, recovery, now
    k.share = math.max(math.floor(share / 2), math.floor(recovery / LEAST_SHARE), 1)
    return true
  end

  -- Sets the brake as asked for; returns whether it changed, and whether slots
  -- booked ahead are void.
  function brake.apply(k, o, now)
    local changed, void = false, false
    if o.pause > 0 and now + o.pause > k.pause then
      k.pause, changed, void = now + o.pause + o.slack, true, true
    end
    local unit = math.min(o.unit, math.floor(MOST_GAP / LEAST_SHARE))
    if unit > 0 and cut(k, o, unit, now) then changed, void = true, true end
    if o.tell then
      local gap = math.min(o.gap, MOST_GAP)
      local told = brake.told(k, now)
      void = void or (o.lasts > 0 and gap > told) or (told > 0 and gap <= math.floor(told / 2))
      k.gap, k.ends, changed = gap, now + o.lasts, true
    end
    if changed then k.at = now end
    return changed, void
  end

  -- Drops what void slots, up to the last one, have set. They are remembered for
  -- a while after they would have come, for those who ask then whether they are
  -- still theirs.
  function brake.drop(k, last, now)
    k.next, k.void = math.min(k.next, now + brake.VOID_FROM), math.max(k.void, last + VOID_FOR)
    table.insert(k.voids, 1, now)
    k.voids[MOST_VOIDS + 1] = nil
  end

  -- Whether a slot ahead, that was granted at an instant, is void: by the first time
  -- from then on that slots were made so. Where that is forgotten, it is.
  function brake.is_void(k, slot, granted)
    local first = k.voids[1]
    if not first or slot <= granted or granted > first then return false end
    for i = 2, MOST_VOIDS do
      local at = k.voids[i]
      if not at or at < granted then return slot > first + brake.VOID_FROM end
      first = at
    end
    return true
  end
end)
