// Package plainstore counts fixed windows in Redis with plain commands, for servers
// and proxies that can't run Lua scripts. Where scripts run, use package redisstore.
//
// # Limits
//
//	algorithm   FixedWindow
//	limits      up to 8 for one key
//	MaxWait     0: now or not at all
//	not served  charges of several keys, Reserve, Hold, Cancelable
//
// The Store has no Cancel, Settle, Brake or Release. Take charges nothing for other requests.
// Its error matches store.ErrUnsupported, and holds a *store.ConfigError with the supported
// values.
//
// # Windows
//
// A window is a counter with a TTL. It opens at the first admitted unit and ends with the TTL.
// Periods are whole milliseconds, rounded up. Redis drops a key once its clock has passed the end,
// a millisecond later. Decisions include it: waiting exactly RetryAfter succeeds. A shorter period
// takes effect with the next counted call, a longer one with the next window.
//
// # Refused calls
//
// Each limit counts a refused call until the store takes its units back, one round trip
// later. Other calls see these units for that moment, and may be refused because of them.
//
// In the last 100 ms of a window the units stay until its end, and RetryAfter includes that:
// units leave the next window only if a command is under way for longer. Refused calls may
// leave an empty window behind. One round trip after its first unit, it gets its full period.
// Until then other calls get the RetryAfter of the old end. If the window ends before, the
// unit counts in no window.
//
// # Errors
//
// ErrState means a foreign value under a counter's key. A decision is never sent twice: after
// a lost reply the call may be counted. A refused call whose context ends returns within 20
// ms. Its units are taken back in the background, for up to 5 s.
package plainstore
