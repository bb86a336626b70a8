// Package fallback puts a local store behind a primary one, so that an outage of Redis is
// boring: calls are decided locally, on this process's share of the limits, within
// microseconds, and by Redis again soon after its return.
//
// # States
//
//	closed     the primary decides. Three rounds of calls fail in a row, and none succeeds
//	           for 100 ms; or a connection is refused: open
//	open       the policy decides, and no call asks the primary. A timer: half-open
//	half-open  the policy decides, and one probe asks the primary. It succeeds: closed.
//	           It fails: open
//
// A call fails with an error, or without an answer within its budget. Calls that began
// before a failure ended belong to its round, so one slow moment of the primary is one
// round. Before the first answer of the primary, one round is enough. These are no
// failures: a refusal, the end of the caller's own context, a mistake in the request, and
// an error of one key (see [KeyError]). A call whose caller has left goes on for the rest
// of the budget, and counts by its end.
//
// The first probe comes after up to 100 ms. Each failed probe doubles the time to the
// next, up to Config.Probe. Half of that time is random. Probes end after a minute without
// calls, until the next call.
//
// # The share
//
// A call may cost more than this process's share of a limit ever holds. It is allowed if
// it fits the whole limit. The local store books the excess ahead: the next calls wait
// until the share has made up for it. So a fleet keeps the rate in an outage whatever its
// calls cost.
//
// # No second burst
//
// A process remembers two states of each key:
//
//	known   the last answer of the primary, corrected by cancels and settled costs since
//	spent   units that this process has admitted by itself since
//
// The local store starts from known, not from full. A primary that is a [store.Restorer]
// learns of both afterwards, with the next call of the key in the same round trip. Other
// calls for that key wait meanwhile, for a tenth of the budget, and then restore it as
// well. Keys without calls follow in the background, 1000 in a second.
//
// A state of the primary that is younger than known means that the primary has lost a
// state, whether or not any call failed. The primary then takes the maximum of all that
// processes know. A kept state ignores known, so units that were given back, settled or
// reset do not come back. The primary adds spent once, to the brim of the limit at most.
// Slots that were booked ahead stay booked. A busy GCRA limit is as full after an outage as
// before.
//
// A primary that is no Restorer is charged for spent, as far as that fits. Its losses go
// unnoticed.
//
// A call without an answer in time is not sent again, and is decided locally. The primary
// may have charged it, too. A late grant is given back, if it can be.
//
// # Goroutines
//
// A client may heed neither its context nor any budget, so no call of the primary is made
// on its caller's goroutine. A primary that is a [store.Restorer] and a [store.Starter],
// as package redisstore is for calls of one key that do not wait, has one goroutine for
// all calls that it decides together. Each other call has its own, which ends with the
// client's call. In an outage the first failed calls and one probe at a time hang for as
// long as the client's own timeouts. One more goroutine restores keys after a return or a
// loss, and ends by itself.
package fallback
