-- GCRA. State: tat = w + r/q. A booking that may be cancelled also keeps how
-- far the bucket was from full at every later booking (slack, whole and
-- remainder) since it last was (full): what a cancel can give back without
-- admitting too much.
local gcra = { fields = 1 }

function gcra.fresh(l) l.w, l.r = 0, 0 end

function gcra.load(l, v)
  l.w, l.r, l.slack, l.part, l.full = v[1], v[2] or 0, v[3], v[4], v[5]
  if l.slack and not l.full then rubbish('a value with too few numbers') end
end

function gcra.check(l)
  if l.r >= l.q or (l.slack and l.part >= l.q) then rubbish('a remainder not below its denominator') end
end

-- The share of the old capacity that is used carries over, rounded up.
function gcra.adapt(l, old, now)
  local cw = muldiv(old.burst, old.p, old.max)
  local used = l.w + 1 - now
  l.w, l.r, l.slack, l.full = now, 0, nil, nil
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

function gcra.book(l, floor, s, keep)
  local full = l.w < s or (l.w == s and l.r == 0)
  if not keep and (full or not l.slack) then
    l.slack = nil
  elseif full or not l.slack then
    l.slack, l.part, l.full = l.cw, l.cr, s
  elseif l.w - s < l.slack or (l.w - s == l.slack and l.r < l.part) then
    l.slack, l.part = l.w - s, l.r
  end
  -- Slots are rounded up. A bucket that is full within the last microsecond
  -- before one was not idle, or rounding would add up: so it counts from the
  -- slot rounded down.
  if l.w < floor then l.w, l.r = floor, 0 end
  l.w, l.r = l.w + l.iw, l.r + l.ir
  if l.r >= l.q then l.w, l.r = l.w + 1, l.r - l.q end
end

-- Takes back what was booked at s, as far as it can; true if that is anything.
function gcra.unbook(l, s)
  if not l.slack or l.full > s or (l.slack == 0 and l.part == 0) then return false end
  local w, r = l.iw, l.ir
  if l.slack < w or (l.slack == w and l.part < r) then w, r = l.slack, l.part end
  l.w, l.r, l.slack, l.part = l.w - w, l.r - r, l.slack - w, l.part - r
  if l.r < 0 then l.w, l.r = l.w - 1, l.r + l.q end
  if l.part < 0 then l.slack, l.part = l.slack - 1, l.part + l.q end
  return true
end

function gcra.save(l)
  if l.slack then
    return table.concat({ str(l.w), str(l.r), str(l.slack), str(l.part), str(l.full) }, '.')
  end
  if l.r > 0 then return str(l.w) .. '.' .. str(l.r) end
  return str(l.w)
end

function gcra.lapse(l) return l.w + 1 end

function gcra.ahead(l) return l.w - l.cw end

function gcra.shift(l, by)
  l.w = l.w - by
  if l.full then l.full = l.full - by end
end

-- Counts what was booked for later as used now.
function gcra.clamp(l, now)
  local w = now + l.cw
  if l.w > w or (l.w == w and l.r > l.cr) then l.w, l.r, l.slack, l.full = w, l.cr, nil, nil end
end

function gcra.view(l) return l.w, l.r, 0 end
