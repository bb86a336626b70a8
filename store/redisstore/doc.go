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
// so it lives in one slot of a cluster. Charges of several keys are decided
// together where the client can do so: on one server. On a cluster they are
// refused with ErrCrossSlot unless their keys share a slot.
//
// Every key has a TTL, rounded up, that ends when its state has lapsed.
//
// The calls in flight of a key are a sorted set beside its state. It is only
// there, and only in a command, for requests with a weir.Hold.
//
// # Many callers
//
// A call that takes of one bucket (GCRA), now or not at all, is the common case.
// While one is under way those that come meanwhile wait in a line and go together
// when it is back, in the order in which they came: the calls of one key as one
// decision of the script, and many keys in one EVALSHA, or in a pipeline where
// there are several servers. A call that is alone goes at once. Whoever's context
// ends leaves, and is not charged unless its flight has set off. A flight that
// takes longer than 10 ms holds nobody up.
//
// # Refused keys
//
// After such a call was refused, those of the same key that do not fit either are
// refused without Redis until RetryAfter, and a second at most. What this process
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
