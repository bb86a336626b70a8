// Package fallback puts a local store behind a primary one, so that an outage of Redis is
// boring. In an outage this process decides on its share of the limits, within
// microseconds. Redis decides again soon after its return.
//
// # States
//
//	state      decides       event                                         next
//	closed     the primary   three rounds of calls fail in a row, without
//	                         a success for 100 ms                          open
//	closed     the primary   a connection is refused                       open
//	open       the policy    a timer                                       half-open
//	half-open  the policy    one probe of the primary succeeds             closed
//	half-open  the policy    the probe fails                               open
//
// A call fails with an error, or without an answer within its budget, also if its caller
// has left. Calls that began before a failure ended belong to its round, so one slow moment
// of the primary is one round. Before the primary's first answer, one round is enough.
// These are no failures: a refusal, the end of the caller's own context, a mistake in the
// request, and an error of one key (see [KeyError]). Config.Probe has the times of probes.
//
// Cancels, real costs and leases go to the store that granted, within the budget.
// [Store.Brake] keeps a brake for the primary's return, and the probe delivers it.
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
// The local store starts from known, not from full. After an outage the next call of a key
// restores both in the primary, if that is a [store.Restorer], in its one round trip.
// Other calls for that key wait meanwhile. Keys without calls follow in the background.
//
// The primary may lose a state, even without a failed call: its state is then younger than
// known. In this case it takes the maximum that any process knows. A kept state ignores
// known, so units that were given back, settled or reset do not come back. The primary
// adds spent once, to the brim of the limit at most. Slots that were booked ahead stay
// booked. A busy GCRA limit is as full after an outage as before. A primary that is no
// Restorer is charged for spent, as far as that fits. Its losses go unnoticed.
//
// A call without an answer in time is not sent again, and is decided locally. The primary
// may have charged it, too. A late grant is given back, if it can be.
//
// # Goroutines
//
// A client may heed neither its context nor any budget, so its calls never run on their
// callers' goroutines:
//
//   - One goroutine serves all calls that the primary decides together. The primary has to
//     be a [store.Restorer] and a [store.Starter], as redisstore is. Start takes calls of
//     one key that do not wait.
//   - Each other call has a goroutine, which ends with the client's call.
//   - One goroutine restores keys after a return or a loss, and ends by itself.
//
// In an outage the first failed calls, and one probe at a time, hang for as long as the
// client's own timeouts.
package fallback

// A call's way through the files, by names:
//
//	closed     Take, attempt, decide: start, or besides and ask. Then await, report:
//	           breaker.Succeed and memory.Learn, or breaker.Fail
//	open       Take, decide by the policy, local: memory.Seed, share.Charges, the local
//	           store, memory.Spend. A call that has failed in the closed state goes on here
//	half-open  breaker.try, probe. Calls go the open way
//	closed     restoreAll, search, look, ask: due adds what the primary lacks, for calls too
