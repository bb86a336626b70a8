// Package redisrate has the names of github.com/go-redis/redis_rate/v10 over package redisstore.
// A program with a redis.UniversalClient changes its import, and the rest compiles:
//
//	import redis_rate "github.com/goweir/weir/redisrate"
//
// New programs take weir.Limiter: it waits, reserves, and has several limits for a
// key.
//
// # Differences
//
//	                       redis_rate v10.0.1                here
//	arithmetic             floating-point seconds            whole microseconds, exact
//	Remaining              often one too few; 0 if refused   exact, also if refused
//	a cost over the burst  refused, RetryAfter is finite     refused, RetryAfter is store.Never
//	AllowAtMost            takes fractions; may refuse 0     takes whole units; 0 is never refused
//	a refusal              a script on the server            remembered for up to 1 s, without a call
//	a changed limit        starts from the old state's time  the used share carries over
//	Rate, Burst, Period    zero or less is not refused       a *store.ConfigError, also beyond store.Limit's bounds
//	n below 0              gives units back                  a *store.ConfigError
//	keys                   rate:KEY                          weir:{redis_rate:KEY}; Reset forgets these alone
//	Redis is away          an error                          an error; with Over and package fallback a decision
//
// Counts start anew with the change of import: the two know nothing of each other's keys.
// Programs with the one and with the other, side by side, admit the sum.
package redisrate
