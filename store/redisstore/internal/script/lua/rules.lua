-- Reads the limits of calls, after ARGV[i], and returns the place of the last one.
local function rules(i)
  local v, limits = ARGV, {}
  i = i + 1
  for m = 1, v[i] + 0 do
    local spec, cost, more, l = v[i + 1], v[i + 2] + 0, v[i + 3] + 0, nil
    local kind = string.sub(spec, 1, 1)
    if kind == 'g' then
      l = {
        spec = spec, kind = kind, cost = cost, q = v[i + 4] + 0, cw = v[i + 5] + 0, cr = v[i + 6] + 0, iw = v[i + 7] + 0, ir = v[i + 8] + 0,
        nw = 0, nr = 0,
      }
      i = i + 8
      l.nw, l.nr = l.iw, l.ir
      if more ~= 0 then
        l.nw, l.nr = v[i + 1] + 0, v[i + 2] + 0
        i = i + 2
      end
    else
      l = {
        spec = spec, kind = kind, cost = cost, need = cost + more, max = v[i + 4] + 0, p = v[i + 5] + 0,
        c = 0, opened = 0, before = 0,
      }
      i = i + 5
      use(kind == 'w' and 'G' or 'W')
    end
    limits[m] = l
  end
  return limits, i
end
