-- The decision for any key: F.find finds the slot of calls, F.book takes their units there.
if part == 'K' and not F.find then
-- Finds the earliest slot at which all limits admit n calls.
F.find = function(k, n)
  local c, limits, v, b, q = k.clock, k.limits, k.v, k.v, k.queue
  if q and q.last > b then b = q.last end
  if c then b = F.C.floor(c, b, now) end
  local f, s, natural, timed = v, v, false, c
  for i = 1, #limits do
    local l = limits[i]
    local kind = l.kind
    if l.cost == 0 then
      l.slot = now
    elseif kind == 'g' or kind == 'w' then
      local x, y
      if kind == 'w' then
        y = F.G.slot(k.log, l, v, l.cost * (n - 1) + l.need)
      elseif n == 1 then x, y = F.gcra_slot(l, v, l.nw, l.nr) else x, y = F.gcra_slot(l, v, F.N.need(l, n)) end
      natural = x and y > v and y >= b and l.nw == l.iw and l.nr == l.ir
      x = x or y
      if x > f then f = x end
      if y > s then s = y end
      l.slot = y > b and y or b
    else
      natural, timed = false, true
    end
  end
  if s < b then f, s = b, b end
  local standing, real, latest = false, s, s
  if timed then
    local from = b
    if c then
      standing = F.C.standing(c, s, now)
      real, from = math.max(F.C.real(standing, s), now), math.max(F.C.real(standing, b), now)
    end
    latest = real
    for i = 1, #limits do
      local l = limits[i]
      if l.cost == 0 then
      elseif l.kind == 'g' or l.kind == 'w' then
        if c then l.slot = math.max(F.C.real(standing, l.slot), now) end
      else
        local units = l.cost * (n - 1) + l.need
        l.slot = l.kind == 'c' and F.W.counter_slot(l, from, units) or F.W.window_slot(l, from, units)
        latest = math.max(latest, l.slot)
      end
    end
  end
  k.floor, k.slot, k.real, k.latest, k.natural, k.standing = f, s, real, latest, natural, standing
  return latest
end

-- Takes the units of n calls at the slot that find returned. Every limit of the key counts
-- them, also one that the call does not name. A tag asks for a receipt.
F.book = function(k, n, tag)
  local limits, most, logged, q = k.limits, 0, false, k.queue
  for i = 1, #limits do
    local units = limits[i].cost * n
    if units > most then most = units end
  end
  if k.parts ~= limits then F.O.forget(k) end
  local parts = k.parts
  if q or tag > 0 or k.slot > k.v or k.real > now then
    q = use('Q').enqueue(k, most, tag, n)
  end
  local tagged = q and q.tag > 0
  for i = 1, #parts do
    local l = parts[i]
    local kind, units = l.kind, l.cost and l.cost * n or most
    if kind == 'w' then
      logged = true
    elseif units > 0 then
      local a, b = l.a, l.b
      if tagged and kind == 'g' then F.Q.note(k, l, q.seq) end
      if kind ~= 'g' then
        if kind == 'c' then F.W.counter_book(l, k.real, units) else F.W.window_book(l, k.real, units) end
      elseif l.cost then
        F.gcra_book(l, k.floor, l.iw * n, l.ir * n)
      else
        F.gcra_book(l, k.floor, F.N.span(l, units))
      end
      if tagged and (l.new or kind ~= 'g') then F.Q.noted(l, q.seq, a, b) end
      if l.left then
        use('O').bound(k, l)
        local full = F.lapse(l)
        if kind == 'g' and full <= k.slot + l.cw then l.left = math.max(l.left, k.clock and F.C.real(k.standing, full) or full) end
      end
    elseif tagged and l.new then
      F.Q.noted(l, q.seq)
    end
  end
  if logged then
    local units = F.G.units(limits, n) or most
    if units > 0 then F.G.push(k.log, k.slot, units) end
  end
  if k.clock then
    k.clock = k.standing
    F.C.book(k.clock, k.slot, most, now)
  end
end
end
