// Package redisstore keeps limits in Redis, shared by all processes that use the same
// server. One EVALSHA decides a request: any number of limits of a key, now or later,
// by the server's clock, exact to a microsecond.
//
// # Servers and clients
//
// Any go-redis v9 client works: single, Cluster, Sentinel, Ring. Any server with Lua
// scripts works: Redis 6 and later, Valkey, and compatible servers. Servers and proxies
// without scripts are for package plainstore.
//
// [Open] takes a URL, and makes the client. Close closes it. [New] takes the caller's
// client, and the Store never closes that one. Neither does I/O: a Redis that is away
// keeps no program from starting. [Store.Check] says why decisions fail or may fail.
//
// The zero value of each field of [Config] is ready to use, except Client for New. All
// methods of a Store are safe for concurrent use, by any number of processes.
//
// # Time
//
// Scripts read the server's clock, so the clocks of processes don't matter. If the
// server's clock steps back, each key's time goes on from where it was. [Config.PassTime]
// is for servers that refuse TIME in scripts: each call then brings the time of its
// process, and the clocks of all processes have to agree.
//
// # Keys
//
// One string holds the state of all limits of a key. A list beside it is the log of
// sliding windows, and a sorted set holds calls in flight. All share the hash tag
// {scope:key}, so they live in one slot of a cluster. Scripts declare every key in KEYS.
//
// Every key has a TTL, rounded up to a millisecond. It ends when the state has lapsed. A
// refusal does not prolong it. Cancel and Settle do not shorten it.
//
// # Levels
//
// One EVALSHA decides charges of several keys (user, organisation, everyone) on one
// server. On a cluster, on a Ring and behind a proxy with shards, the Store takes them key
// after key in the request's order: narrow before wide. When a later key refuses or fails,
// or the context ends, it gives the units back. No limit is exceeded meanwhile. Of two
// requests at one instant both may be refused. Such a request costs a round trip for each
// key. It can't wait for a slot or take a lease: it fails with [ErrCrossSlot].
//
// # Concurrent calls
//
// Calls that take units of one key, without a lease, share round trips. Such a call leaves
// at once while fewer round trips than [Config.RoundTrips] are under way and few hold its
// key. Otherwise it joins the next batch. Calls of a key leave in their order. Each master
// of a cluster and each shard of a Ring has its own queue. A call that may wait shares a
// round trip for a slot that is now, while most of its limit is left.
//
// A caller whose context ends leaves the queue, and an unsent call is not charged. A caller
// of a sent Cancelable call waits for its receipt.
//
// The Store remembers refusals for up to a second, and refuses equal calls until RetryAfter
// without Redis, while no booking is ahead or can be given back, and no brake is set. Only a
// Reset or other limits in another process take effect up to a second late.
//
// # Errors
//
//	ErrState      a foreign or damaged value; nothing is overwritten, Reset clears it
//	ErrVersion    a state of a version that this release can't read; matches ErrState
//	ErrClosed     the Store is closed
//	ErrTime       the server refuses TIME in scripts: set Config.PassTime
//	ErrCrossSlot  waiting or a lease over several servers; matches store.ErrUnsupported
//
// Open, New and the methods return a *store.ConfigError for a wrong value. Other errors come
// from the client or from the context. A call that fails with a timeout may be charged.
//
// # Upgrades
//
// The first byte of a state is its version. Processes of several releases may share keys
// if all read the same version. A state of an unknown version is ErrVersion, never a
// fresh start. States from before the version byte need a flush or another Prefix.
package redisstore
