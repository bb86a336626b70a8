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
// While a call that takes of one key, now or not at all, is under way, those that
// come meanwhile wait in a line and go together when it is back, in the order in
// which they came: the calls of one key that charge the same, one behind the other,
// as one decision of the script, and many keys in one EVALSHA, or in a pipeline on a
// ring and where a server does not take that. Where there are many keys two flights
// are under way at once, each with keys of its own. A call that is alone goes at
// once. Whoever's context ends leaves, and is not charged unless its flight has set
// off; one that all have left is not sent if it was not yet. Of a context without a
// deadline a call that waits hears within 20 ms, unless it is decided before. A
// flight that takes longer than 10 ms holds up nobody but those in it. Each master
// of a cluster and each shard of a ring has a line of its own, so one that is silent
// holds up its own keys only. Keys of several slots of a cluster are not declared,
// as it takes no call that does; one whose slot is on the move is asked for by
// itself, and when the slot's first master has nothing of it any more, with its log
// and its leases undeclared.
//
// # Refused keys
//
// After such a call was refused, those of the same key that do not fit either are
// refused without Redis until RetryAfter, and a second at most: under one bucket
// (GCRA) whatever they cost; under several limits, and windows, those that charge the
// same, if nothing of the key's state may be given back. Logs of sliding windows do
// not tell that, so they are always asked. What this process
// does to the key (Reset, Cancel, Settle, Brake, an admitted call) ends that at
// once, and so does a connection that fails. Cancelled and settled bookings of
// other processes can't free such a key earlier. A Reset, or other limits for the
// same key, of another process take effect here within that second.
//
// # Without scripts
//
// Behind a proxy that can't run scripts, set Config.WithoutScripts: fixed
// windows are then counted with plain commands, see there.
package redisstore
