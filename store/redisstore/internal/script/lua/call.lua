-- Reads the limits of calls, after ARGV[i], and returns the place of the last one.
local function rules(i)
  local v, limits = ARGV, { true }
  i = i + 1
  for m = 1, v[i] + 0 do
    local spec, cost, more, l = v[i + 1], v[i + 2] + 0, v[i + 3] + 0, nil
    local kind = string.sub(spec, 1, 1)
    if kind == 'g' then
      l = {
        spec = spec, kind = kind, cost = cost, q = v[i + 4] + 0, cw = v[i + 5] + 0, cr = v[i + 6] + 0, iw = v[i + 7] + 0, ir = v[i + 8] + 0,
        nw = 0, nr = 0, a = 0, b = 0,
      }
      i = i + 8
      if more == 0 then
        l.nw, l.nr = l.iw, l.ir
      else
        l.nw, l.nr = v[i + 1] + 0, v[i + 2] + 0
        i = i + 2
      end
    else
      l = {
        spec = spec, kind = kind, cost = cost, need = cost + more, max = v[i + 4] + 0, p = v[i + 5] + 0,
        a = 0, b = 0, c = 0, opened = 0, before = 0,
      }
      i = i + 5
      use(kind == 'w' and 'G' or 'W')
    end
    limits[m] = l
  end
  return limits, i
end

local function new()
  use('K')
  return {
    state = 0, list = false, limits = false, parts = false, born = 0, birth = false, v = 0, value = false, queue = false, clock = false, log = false,
    floor = 0, slot = 0, real = false, latest = 0, natural = false, writes = false,
  }
end

-- Appends the answer of a key to the n numbers of a reply.
local function tell(reply, n, k, taken, plain)
  if k.undecided then
    reply[n + 1] = k.undecided
    return n + 1
  end
  local limits, none = k.limits, not k.real and now
  if #k.parts > #limits then taken = taken + 1048576 end
  if plain and not k.queue and not k.clock then
    reply[n + 1], reply[n + 2] = taken, 0
    n = n + 2
  else
    plain = false
    reply[n + 1], reply[n + 2] = taken, k.clock and F.C.save(k.clock) or k.queue and 2 or 1
    reply[n + 3], reply[n + 4] = none or k.latest, none or k.slot
    n = n + 4
  end
  for i = 1, #limits do
    local l = limits[i]
    local kind = l.kind
    if kind == 'w' then
      reply[n + 1], reply[n + 2] = F.G.live(k.log, l, k.v), k.log.newest
    else
      reply[n + 1], reply[n + 2] = l.a, l.b
      if kind == 'c' then
        n = n + 1
        reply[n + 2] = l.c
      end
    end
    n = n + 2
    if not plain or kind == 'w' then
      n = n + 1
      reply[n] = none or l.slot
    end
  end
  return n
end
