-- What was booked of each of a key's limits at slots that are still to come, for the
-- case that they are made void or given back: what they took of a limit that is not
-- full, and where those stand who are left, can't be told from its state. It is in
-- marks, in the order of the slots: the first slot, the last one, and the units of each
-- limit. Where there are too many, neighbours are made one, several times at once, as
-- that is the most to do for a booking; the least is to write one more mark behind the
-- text of the others. First slots are counted from an instant, of slots up to which the
-- marks don't tell (g.begun), last ones from the first. Where the line ends is kept as
-- well (g.stop): that may be before the last slot there was (g.last).
local ahead = lazy(function(ahead)
  local MOST_MARKS, MERGED_MARKS = 16, 12

  -- Reads what follows a key's last slot and when that was booked.
  function ahead.load(g, text)
    if text == '' then return end
    local begun, stop, marks = string.match(text, '^(%d+),(%d+),?([%d,]*)$')
    g.begun, g.stop, g.ahead = tonumber(begun), tonumber(stop), marks
    if not g.begun or not g.stop or g.begun > g.last or g.stop > g.last then rubbish('slots ahead out of bounds') end
  end

  function ahead.save(g)
    if not g.begun then return '' end
    return ',' .. str(g.begun) .. ',' .. str(g.stop) .. (g.ahead ~= '' and ',' .. g.ahead or '')
  end

  -- Forgets the marks, but not where the line ends.
  function ahead.forget(g)
    if g.begun then g.begun, g.ahead = g.stop, '' end
  end

  -- The numbers of all marks, and how many there are of each.
  local function list(g)
    local marks, w = split(g.ahead, '%d+'), 2 + #g.limits
    if #marks % w ~= 0 or #marks > MOST_MARKS * w then rubbish('slots ahead of another length than the signature') end
    for i = 1, #marks do
      local n = tonumber(marks[i])
      if not n or n >= 9007199254740992 then rubbish('slots ahead out of bounds') end
      if i % w == 1 then n = g.begun + n elseif i % w == 2 then n = marks[i - 1] + n end
      marks[i] = n
    end
    return marks, w
  end

  local function text(g, marks, w)
    local parts = {}
    for i = 1, #marks do
      local n = marks[i]
      if i % w == 1 then n = n - g.begun elseif i % w == 2 then n = n - marks[i - 1] end
      parts[i] = str(n)
    end
    return table.concat(parts, ',')
  end

  local function keep(g, marks, w) g.ahead = text(g, marks, w) end

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

  -- Notes that a slot, which is floor rounded down, was booked at the end of the line.
  function ahead.book(g, floor, slot, now)
    local w, stop = 2 + #g.limits, g.stop
    g.stop, g.last, g.at = floor, math.max(g.last, floor), now
    local mark = { slot, slot }
    for i, l in ipairs(g.limits) do mark[2 + i] = l.c end
    if g.ahead == '' then
      g.begun = math.max(stop, now)
      return keep(g, mark, w)
    end
    local _, commas = string.gsub(g.ahead, ',', ',')
    local full = commas + 1 >= MOST_MARKS * w
    if not full and slot > stop + 1 then
      g.ahead = g.ahead .. ',' .. text(g, mark, w)
      return
    end
    local marks = list(g)
    local last = #marks - w
    if marks[last + 2] == slot then
      for i = 3, w do marks[last + i] = math.min(marks[last + i] + mark[i], UNITS) end
      return keep(g, marks, w)
    end
    if full then
      while marks[1] and marks[2] <= now do
        for _ = 1, w do table.remove(marks, 1) end
      end
      if #marks >= MOST_MARKS * w then
        while #marks > MERGED_MARKS * w do merge(marks, w) end
      end
    end
    for i = 1, w do marks[#marks + 1] = mark[i] end
    keep(g, marks, w)
  end

  -- Whether a booking to be settled is of this line: one of before a Reset, or of other
  -- limits, is not.
  function ahead.has(g)
    local begun = string.match(g.after, '|%d+,%d+,(%d+)')
    return begun and tonumber(begun) == g.begun
  end

  -- Notes that a booking at a slot was given back in part, and returns whether that
  -- changes anything. The line ends with the last slot of which units are left; no
  -- window is still to come after it.
  function ahead.settle(g, slot, now)
    if g.ahead == '' then return false end
    if not ahead.has(g) then return false end
    local marks, w = list(g)
    local at = 1
    while marks[at] and slot > marks[at + 1] do at = at + w end
    if not marks[at] or slot < marks[at] then return false end
    local less = false
    for i, l in ipairs(g.limits) do
      local n = marks[at + 1 + i]
      if l.a < l.c and n > 0 and n < UNITS then
        marks[at + 1 + i], less = math.max(n - l.c + l.a, 0), true
      end
    end
    if not less then return false end
    local function left()
      for i = #marks - w + 3, #marks do
        if marks[i] > 0 then return true end
      end
    end
    local all = #marks
    while marks[1] and not left() do
      for _ = 1, w do table.remove(marks) end
    end
    keep(g, marks, w)
    if #marks == all then return true end
    g.stop = math.min(g.stop, marks[1] and marks[#marks - w + 2] or g.begun)
    if g.stop <= now then g.ahead = '' end
    for _, l in ipairs(g.limits) do
      if l.alg.recede then l.alg.recede(l, math.max(g.stop, now)) end
    end
    return true
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
