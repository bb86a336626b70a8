// Package fallback puts a local store behind a primary one, so that an outage
// of Redis is boring: calls are decided locally, on this process's share of the
// limits, within microseconds, and by Redis again soon after it is back.
//
// # States
//
// Closed: the primary decides, and what it answers keeps the local store warm.
// After a few failures in a row the breaker opens: the local store decides, and
// the primary is not asked. Somewhat more often than once in a probe interval it
// is half-open: one probe, in the background, asks the primary whether it can
// decide; the callers wait for nothing. When it can, the breaker closes. So the
// primary is used again within one probe interval of its return.
//
// A failure is an error or no answer within the budget. None is: a refusal, the
// end of the caller's own context, a mistake in the request, or something
// foreign under one key (see [KeyError]). A call whose caller has left goes on
// for the rest of the budget, and only what the primary does by then counts.
//
// # The share
//
// A call may cost more than this process's share of a limit ever holds. It is
// allowed where it fits the whole limit, and what it takes too much is booked
// ahead: the next calls wait until the share has made up for it. So a fleet keeps
// the rate in an outage whatever its calls cost.
//
// # No second burst
//
// The local store starts from the last answers of the primary, not from full.
// When the primary is back, the first call of each key makes it whole, and the
// others wait for that: it is charged what was admitted here meanwhile, and, if
// it has lost its memory, what it was known to have used. Only what still
// counts is charged, so an outage longer than a window leaves nothing behind, but
// for calls that cost more than this process's share.
//
// A call that got no answer in time may have been charged by the primary all
// the same; it is not sent again, and it is decided locally as well. If it
// turns out to have been granted and can be given back, it is.
//
// # Goroutines
//
// A client may heed neither its context nor any budget, so no call of the
// primary is made on its caller's goroutine. A primary that is a [store.Starter],
// as package redisstore is for calls of one key that do not wait, has one for all it
// decides together; each other call has one, which ends with the client's. In an
// outage those of the calls that failed first hang, and one for each probe, for as
// long as the client's own timeouts.
package fallback
