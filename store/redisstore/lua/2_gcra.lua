-- GCRA. State: tat = w + r/q. A booking that may be cancelled also keeps how
-- far the bucket was from full at every later booking (slack) since it last was
-- (full): what a cancel can give back without admitting too much.
local gcra = { fields = 1 }

function gcra.fresh(l) l.w, l.r = 0, 0 end

function gcra.load(l, v)
  l.w, l.r, l.slack, l.full = v[1], v[2] or 0, v[3], v[4]
  if l.slack and not l.full then rubbish('a value with too few numbers') end
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

function gcra.book(l, s, now, keep)
  -- A slot in the future is rounded up: a tat in its last microsecond is not
  -- behind it, or rounding would add up.
  local ahead
  if s > now then ahead = l.w + (l.r > 0 and 1 or 0) >= s else ahead = l.w > s or (l.w == s and l.r > 0) end
  if not (keep or l.slack) or not (keep or ahead) then
    l.slack = nil
  elseif l.slack and ahead then
    l.slack = math.min(l.slack, math.max(l.w - s, 0))
  else
    l.slack, l.full = l.cw, s
  end
  if not ahead then l.w, l.r = s, 0 end
  l.w, l.r = l.w + l.iw, l.r + l.ir
  if l.r >= l.q then l.w, l.r = l.w + 1, l.r - l.q end
end

function gcra.unbook(l, s)
  if not l.slack or l.full > s then return end
  if l.slack >= l.iw + (l.ir > 0 and 1 or 0) then
    l.w, l.r, l.slack = l.w - l.iw, l.r - l.ir, l.slack - l.iw - (l.ir > 0 and 1 or 0)
    if l.r < 0 then l.w, l.r = l.w - 1, l.r + l.q end
  else
    l.w, l.slack = l.w - l.slack, 0
  end
end

function gcra.save(l)
  if l.slack then return str(l.w) .. '.' .. str(l.r) .. '.' .. str(l.slack) .. '.' .. str(l.full) end
  if l.r > 0 then return str(l.w) .. '.' .. str(l.r) end
  return str(l.w)
end

function gcra.lapse(l) return l.w + 1 end

function gcra.ahead(l) return l.w - l.cw end

function gcra.shift(l, by)
  l.w = l.w - by
  if l.full then l.full = l.full - by end
end

function gcra.view(l) return l.w, l.r, 0 end
