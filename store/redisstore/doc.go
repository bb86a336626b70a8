// Package redisstore keeps limits in Redis, shared by every process that uses
// the same server: one embedded Lua script, and one EVALSHA per decision,
// decides any number of limits of a key by the server's clock.
//
// # Servers and clients
//
// Any go-redis v9 client works: single, Cluster, Sentinel, Ring. So does any
// server with Lua scripts: Redis 6 and later, Valkey, Dragonfly. The client is
// the caller's and is never closed here; New does no I/O.
//
// A decision that was sent is not sent again, whatever the client's MaxRetries
// says: it may have been charged. Set ContextTimeoutEnabled in the client's
// options, or a context's deadline does not reach the socket.
//
// # Keys
//
// All that is kept of one key shares the hash tag made of its scope and text,
// so it lives in one slot of a cluster.
//
// Every key has a TTL, rounded up, that ends when its state has lapsed.
//
// The calls in flight of a key are a sorted set beside its state. It is only
// there, and only in a command, for requests with a store.Hold.
//
// # Levels
//
// Charges of several keys, as of a user within an organisation within everybody,
// are decided in one EVALSHA on one server, and on a cluster where all the keys
// share a slot. Otherwise, and always on a ring of several shards or behind a
// proxy that shards, they are taken key after key in the request's order, which
// should be from narrow to wide, and what was taken is given back when a later one
// refuses, fails, or the context ends. No limit is exceeded on the way, a key that
// refuses has nothing taken of those after it even for a moment, and what the
// decision tells is what holds after the give-back. Two requests at the same
// instant may both be refused, though, where one of them would have fit: the one
// is refused for what the other is about to give back.
//
// Of n keys that takes n calls when allowed; refused by the k-th, k and for what
// is given back k-1, and n-1 that look at what the others would say, so that
// waiting RetryAfter is enough. Such requests can't wait for a slot or ask for a
// lease: they fail with ErrCrossSlot. A server that does not answer may have
// taken its part, which then stays taken.
//
// # Many callers
//
// Concurrent calls of one process that want units of one key, now or not at all, share
// round trips. A call leaves at once while fewer than six round trips are under way and
// none of them has its key. Any other call joins the next batch. The server decides the
// calls of a key in their order of arrival. Calls with the same key, limits and costs
// become one decision of the script. A batch is one EVALSHA for each 128 units of work;
// on a cluster, a ring, and behind a proxy that shards, it is a pipeline with an EVALSHA
// for each key.
//
// Errors belong to the key they concern. A caller whose context ends leaves at once, and is
// not charged unless its batch is on the way. Each master of a cluster and each shard of a
// ring has a queue of its own, so a silent server delays its own keys only. A call without
// a deadline waits at most for the round trips under way and then for its own.
//
// # Refused keys
//
// After such a call was refused, calls with the same key, limits and costs are refused
// without Redis until RetryAfter, and for a second at most. A key with bookings that can be
// given back, or with a brake, is always asked. Reset, Cancel, Settle, Brake and an admitted
// call of this process end that at once, and so does a connection that fails. A Reset by
// another process, or its other limits for the key, take effect here within that second.
// Of several sliding windows, or a cost over 1, more units may be free than such a refusal
// tells.
//
// # Without scripts
//
// Behind a proxy that can't run scripts, package plainstore counts fixed windows with plain
// commands.
package redisstore
