-- GCRA. State: tat = w + r/q. A booking that may be cancelled or settled also
-- keeps the credit, a list of what bookings at slots from an instant on can give
-- back without admitting too much (whole, remainder, that instant), how far
-- debt has taken the tat beyond what can be booked (owed), and how far ahead the
-- first of those was booked (early). Giving back has the bucket fill up sooner,
-- but not beyond a moment at which it was full then: so each booking can give
-- back as much as the bucket was from full at the first booking of every later
-- slot, at least. Those are levels that only rise with the slot; the last is a
-- whole bucket, as nothing comes after. Where there are more than GRACES, a
-- booking gets the one below its own. The first begins where the bucket was last
-- full for a while: that tells the bookings of now from those that have lapsed,
-- and with the instant at which it was made from those of before a Reset.
local gcra = lazy(function(gcra)
  gcra.fields = 1
  local GRACES = 8
  -- As far as anybody may wait, a quarter of the longest period.
  local DEBT = 394200000000000

  function gcra.fresh(l) l.w, l.r, l.credit, l.owed, l.early = 0, 0, nil, 0, 0 end

  function gcra.load(l, v)
    gcra.fresh(l)
    l.w, l.r = v[1], v[2] or 0
    if #v < 3 then return end
    local rest = (#v - 2) % 3
    if #v < 5 then rubbish('a value with too few numbers') end
    if rest == 1 then l.owed = v[#v] end
    if rest == 2 then l.owed, l.early = v[#v - 1], v[#v] end
    l.credit = {}
    for i = 3, #v - 2, 3 do l.credit[#l.credit + 1] = { v[i], v[i + 1], v[i + 2] } end
  end

  function gcra.check(l)
    local most = l.r
    for _, c in ipairs(l.credit or {}) do most = math.max(most, c[2]) end
    if most >= l.q then rubbish('a remainder not below its denominator') end
    if l.owed > 2 * DEBT then rubbish('a debt too far ahead') end
  end

  -- The share of the old capacity that is used carries over, rounded up.
  function gcra.adapt(l, old, now)
    local cw = muldiv(old.burst, old.p, old.max)
    local used = l.w + 1 - now
    gcra.fresh(l)
    l.w = now
    if used >= cw and used > 0 then
      l.w, l.r = now + l.cw, l.cr
    elseif used > 0 then
      l.w = now + math.min(muldiv(used, l.cw, cw) + 1, l.cw)
    end
  end

  -- The earliest instant from b on, rounded down and up.
  function gcra.slot(l, b)
    local w, r = l.w + (l.iw - l.cw), l.r + (l.ir - l.cr)
    if r < 0 then w, r = w - 1, r + l.q elseif r >= l.q then w, r = w + 1, r - l.q end
    if w < b then return b, b end
    return w, r > 0 and w + 1 or w
  end

  -- a <= b, of whole numbers with remainders.
  local function le(aw, ar, bw, br) return aw < bw or (aw == bw and ar <= br) end

  -- The credit of a list: levels that are the same are one. Of too many the one
  -- that is the least above the level before it is left out.
  local function graces(list)
    local c = {}
    for _, g in ipairs(list) do
      local last = c[#c]
      if not last or last[1] ~= g[1] or last[2] ~= g[2] then c[#c + 1] = g end
    end
    if #c > GRACES then
      local least = 2
      for i = 3, #c - 1 do
        if c[i][1] - c[i - 1][1] < c[least][1] - c[least - 1][1] then least = i end
      end
      table.remove(c, least)
    end
    return c
  end

  -- Notes a booking at s.
  local function pass(l, s)
    local w, r, list = l.w - s, l.r, {}
    if w < 0 then w, r = 0, 0 end
    for i, c in ipairs(l.credit) do
      list[i] = (c[3] >= s or le(c[1], c[2], w, r)) and c or { w, r, c[3] }
    end
    if l.credit[#list][3] < s then list[#list + 1] = { l.cw, l.cr, s } end
    l.credit = graces(list)
  end

  function gcra.book(l, floor, s, keep, now)
    -- Slots are rounded up. A bucket that is full within the last microsecond
    -- before one was not idle, or rounding would add up: so it counts from the
    -- slot rounded down.
    local idle = l.w < floor
    if l.credit and not idle then
      pass(l, s)
    else
      l.credit = keep and { { l.cw, l.cr, s } } or nil
      l.early = keep and s - now or 0
    end
    l.owed = 0
    if idle then l.w, l.r = floor, 0 end
    l.w, l.r = l.w + l.iw, l.r + l.ir
    if l.r >= l.q then l.w, l.r = l.w + 1, l.r - l.q end
  end

  local function minus(q, aw, ar, bw, br)
    if ar < br then return aw - bw - 1, ar - br + q end
    return aw - bw, ar - br
  end

  -- Up to w + r/q of what a booking at s can give back.
  local function giveback(l, s, w, r)
    local own = #l.credit
    while own > 0 and l.credit[own][3] > s do own = own - 1 end
    if own == 0 then return 0, 0 end
    local mine = l.credit[own]
    if le(mine[1], mine[2], w, r) then w, r = mine[1], mine[2] end
    local list = {}
    for i = #l.credit, 1, -1 do
      local c = l.credit[i]
      if i >= own and (c[1] ~= l.cw or c[2] ~= l.cr) then
        local cw, cr = minus(l.q, c[1], c[2], w, r)
        c = { cw, cr, c[3] }
      elseif i < own and not le(c[1], c[2], list[own][1], list[own][2]) then
        c = { list[own][1], list[own][2], c[3] }
      end
      list[i] = c
    end
    l.credit = graces(list)
    return w, r
  end

  function gcra.since(l) return l.credit and str(l.credit[1][3]) .. ' ' .. str(l.early) end

  -- A bucket that is full, or was for a while, has forgotten the booking.
  function gcra.settle(l, s, now, alone)
    if l.w + (l.r > 0 and 1 or 0) <= now then return false end
    local w, r = l.dw, l.dr
    if l.a > l.c then
      l.w, l.r = l.w + w, l.r + r
      if l.r >= l.q then l.w, l.r = l.w + 1, l.r - l.q end
      if l.w > now + l.cw + DEBT then l.w, l.r = now + l.cw + DEBT, 0 end
      l.owed = math.max(l.w + 1 - l.cw - now, 0)
      return true
    end
    if not alone then w, r = giveback(l, s, w, r) end
    l.w, l.r = minus(l.q, l.w, l.r, w, r)
    return w > 0 or r > 0
  end

  function gcra.miss() return false end

  function gcra.save(l)
    if not l.credit then return l.r > 0 and str(l.w) .. '.' .. str(l.r) or str(l.w) end
    local list = { str(l.w), str(l.r) }
    for _, c in ipairs(l.credit) do
      for i = 1, 3 do list[#list + 1] = str(c[i]) end
    end
    if l.owed > 0 or l.early > 0 then list[#list + 1] = str(l.owed) end
    if l.early > 0 then list[#list + 1] = str(l.early) end
    return table.concat(list, '.')
  end

  function gcra.lapse(l) return l.w + 1 end

  -- Debt comes on top of what can be booked.
  function gcra.ahead(l) return l.w - l.cw - l.owed end

  function gcra.shift(l, by)
    l.w = l.w - by
    for _, c in ipairs(l.credit or {}) do c[3] = c[3] - by end
  end

  -- Counts what was booked for later as used now.
  function gcra.clamp(l, now)
    local w = now + l.cw
    if l.w > w or (l.w == w and l.r > l.cr) then
      gcra.fresh(l)
      l.w, l.r = w, l.cr
    end
  end

  -- The time of n units, whole and remainder. The signature has the rate.
  local function span(l, n)
    local rate = tonumber(string.match(l.spec, '%d+'))
    local one = muldiv(l.p, l.q, rate)
    local w = muldiv(n, one, l.q)
    local high, low = mul(n, one)
    local h, o = mul(w, l.q)
    return w, (high - h) * HALF * HALF + low - o
  end

  -- Takes n units, that were booked for later, back of a bucket that is not full as
  -- well. What others have taken that do not count any more stays used.
  function gcra.void(l, now, units)
    local n = units()
    if n > 0 and l.cw / l.max * n < l.w then
      local w, r = span(l, n)
      l.w, l.r = minus(l.q, l.w, l.r, w, r)
    end
    gcra.clamp(l, now)
  end

  function gcra.view(l) return l.w, l.r, 0 end
end)
