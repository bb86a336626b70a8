-- What was booked of each of a key's limits at slots that are still to come, for the
-- case that they are made void: what they took of a limit that is not full can't be
-- told from its state. It is in marks, in the order of the slots: the first slot, the
-- last one, and the units of each limit. Where there are too many, neighbours are made
-- one, several times at once, as that is the most to do for a booking; the least is to
-- write one more mark behind the text of the others. That begins with an instant, from
-- which first slots are counted; last ones are from the first.
local ahead = lazy(function(ahead)
  local MOST_MARKS, MERGED_MARKS = 16, 12

  -- The numbers of all marks, and how many there are of each.
  local function list(g)
    local marks, w = split(g.ahead, '%d+'), 2 + #g.limits
    local from = table.remove(marks, 1)
    if #marks % w ~= 0 or #marks > MOST_MARKS * w then rubbish('slots ahead of another length than the signature') end
    from = tonumber(from)
    for i = 1, #marks do
      marks[i] = tonumber(marks[i])
      if not from or not marks[i] or math.max(marks[i], from) >= 9007199254740992 then rubbish('slots ahead out of bounds') end
      if i % w == 2 then marks[i - 1], marks[i] = from + marks[i - 1], from + marks[i - 1] + marks[i] end
    end
    return marks, w
  end

  -- The text of marks, whose first slots are counted from an instant.
  local function text(marks, w, from)
    local parts = {}
    for i = 1, #marks do
      local n = marks[i]
      if i % w == 1 then n = n - from elseif i % w == 2 then n = n - marks[i - 1] end
      parts[i] = str(n)
    end
    return table.concat(parts, ',')
  end

  local function keep(g, marks, w) g.ahead = str(marks[1]) .. ',' .. text(marks, w, marks[1]) end

  function ahead.save(g) return g.ahead ~= '' and ',' .. g.ahead or '' end

  -- Makes one of the two neighbours that have the fewest units, of those that have as
  -- few the later ones.
  local function merge(marks, w)
    local at, least
    local function sum(at)
      local n = 0
      for i = at + 2, at + w - 1 do n = n + marks[i] end
      return n
    end
    for i = 1, #marks - w, w do
      local n = sum(i) + sum(i + w)
      if not least or n <= least then at, least = i, n end
    end
    marks[at + 1] = marks[at + w + 1]
    for i = at + 2, at + w - 1 do marks[i] = math.min(marks[i] + marks[i + w], UNITS) end
    for _ = 1, w do table.remove(marks, at + w) end
  end

  -- Notes that a slot was booked behind the others.
  function ahead.book(g, slot, now)
    local _, numbers = string.gsub(g.ahead, ',', ',')
    local w = 2 + #g.limits
    local full = numbers >= MOST_MARKS * w
    local mark = { slot, slot }
    for i, l in ipairs(g.limits) do mark[2 + i] = l.c end
    if g.ahead == '' then return keep(g, mark, w) end
    if not full and slot > g.last + 1 then
      local from = tonumber(string.match(g.ahead, '^%d+'))
      g.ahead = g.ahead .. ',' .. text(mark, w, from or 0)
      return
    end
    local marks = list(g)
    local last = #marks - w
    if marks[last + 2] == slot then
      for i = 3, w do marks[last + i] = math.min(marks[last + i] + mark[i], UNITS) end
      return keep(g, marks, w)
    end
    if full then
      while marks[1] and marks[1] <= now do
        for _ = 1, w do table.remove(marks, 1) end
      end
      if #marks >= MOST_MARKS * w then
        while #marks > MERGED_MARKS * w do merge(marks, w) end
      end
    end
    for i = 1, w do marks[#marks + 1] = mark[i] end
    keep(g, marks, w)
  end

  -- Notes that a booking at a slot was given back in part, and returns whether it was
  -- there.
  function ahead.settle(g, slot)
    if g.ahead == '' then return false end
    local marks, w = list(g)
    for at = 1, #marks, w do
      if slot >= marks[at] and slot <= marks[at + 1] then
        for i, l in ipairs(g.limits) do
          marks[at + 1 + i] = math.max(marks[at + 1 + i] - math.max(l.c - l.a, 0), 0)
        end
        keep(g, marks, w)
        return true
      end
    end
    return false
  end

  -- How many units of the i-th limit are booked at slots after one instant and before
  -- another (nil: at any), as far as that is known: there may be more.
  function ahead.units(g, i, after, before)
    if g.ahead == '' then return 0 end
    local n, marks, w = 0, list(g)
    for at = 1, #marks, w do
      if marks[at] > after and (not before or marks[at + 1] < before) then n = n + marks[at + 1 + i] end
    end
    return n
  end
end)
