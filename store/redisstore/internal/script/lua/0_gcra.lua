-- Numbers are whole and below 2^53, where doubles and their remainders are exact. Times are
-- microseconds since the Unix epoch. Functions have the names they have in package exact.
--
-- It takes longer to make a function than to run most steps of a decision. So functions are
-- fields of a few tables, and use('N') makes a table when a call needs it. use('K') adds the
-- functions of any key to F. The tables:
--
--   N   large numbers       W   windows with a beginning       G   logs
--   C   clocks              Q   queues and credit              E   grades of credit
--   H   leases              O   limits that changed            S   losses, clocks that stepped back
--
-- A value that is not weir's ends the script with WEIRSTATE. Nothing has changed then.
--
-- ARGV[1] is empty for the server's clock, or the time. A '+' behind it makes keys live
-- an hour longer, for tests.
local F, use
local now, longer = ARGV[1], 0
if now == '' then
  local t = redis.pcall('TIME')
  if t.err then error('WEIRTIME ' .. t.err, 0) end -- Not all servers say of which command that is.
  now = t[1] * 1000000 + t[2]
else
  local at, more = string.match(now, '^(%d+)(%+?)$')
  now, longer = tonumber(at), more == '+' and 3600000 or 0
end

F = {
-- GCRA, the generic cell rate algorithm of ITU-T I.371. a and b are the theoretical arrival
-- time (TAT): whole microseconds, and the rest over q. w and r are the time of the units.
gcra_slot = function(l, at, w, r)
  local x, y = l.a + w - l.cw, l.b + r - l.cr
  if y < 0 then x, y = x - 1, y + l.q elseif y >= l.q then x, y = x + 1, y - l.q end
  if x < at then return at, at end
  return x, y > 0 and x + 1 or x
end,

gcra_book = function(l, at, w, r)
  local x, y, q = l.a, l.b + r, l.q
  if x < at then x, y = at, r end
  x = x + w
  if y >= q then
    local rest = y % q
    x, y = x + (y - rest) / q, rest
  end
  l.a, l.b = x, y
end
}
