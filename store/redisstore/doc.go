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
// # Without scripts
//
// Behind a proxy that can't run scripts, set Config.WithoutScripts: fixed
// windows are then counted with plain commands, see there.
package redisstore
