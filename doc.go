// Package weir limits the rate of HTTP traffic in both directions over one
// shared store.
//
// Outbound, a [Transport] around http.Client.Transport keeps every process of
// a fleet together inside a provider's limits: calls wait their turn in order,
// or are refused at once. Inbound, package middleware and the adapters for gin,
// echo (v4 and v5) and gRPC protect an API per user or API key.
//
// Both use a [Limiter], which binds a [Store] to limits. Stores live below
// store/: redisstore for a fleet, localstore for one process, fallback for when
// the fleet's is away, leasestore around one for keys that are very busy.
//
// # Words
//
//	limit        a rule: units per period or window, and for GCRA a burst at once
//	key, cost    the counted party of a call, and the number of units that it takes
//	decision     the outcome: allowed or not, remaining, retry after, reset after
//	reservation  a granted future slot; its delay is how long to wait for it
//	in flight    under way: a call is in flight from its start to its end
//	lease        a call's place among the calls in flight
//
// Times are always durations. Config.InFlight limits the calls in flight, in all processes
// together. A lease of a process that died ends by itself.
//
// # Outbound
//
// "25 per 5 seconds" of a provider is [Outbound](25, 5*time.Second).
//
// A Transport counts requests by a key that the program chooses: the host, the host and
// token, or the host and endpoint (TransportConfig.Key). A Transport reads the upstream's
// limits from its responses (package upstream): a 429 in one process pauses the key for
// all ([Limiter.Pause]), and a lower limit or an unexplained refusal slows all of them
// down. It holds to several limits at once
// (TransportConfig.Levels), and corrects an estimated cost to the real one
// ([SettleFunc], [Reservation.Settle], [Limiter.DoN]). Package retry sends requests
// again. Package weirtest has a provider and a store for tests.
//
// # Waiting
//
// A waiting call books its slot in one store call and sleeps exactly until
// then, first come first served across processes. A wait that would pass the
// context's deadline fails at once and takes nothing; a cancelled wait gives
// its slot back.
package weir
