// Package leasestore takes units of busy keys ahead: one call of the store behind takes
// many, and this process decides on them. It is for keys with so many calls that even one
// combined store call for each key is too much.
//
// Units are charged before they are used. So any number of processes together never use
// more than the limit admits. The price is fairness near the limit: other processes are
// refused units that lie unused here, for [Config.For] at most. Then this process gives
// them back. The fewer units a limit has left, the fewer are taken ahead. A call ahead
// without an answer, as after its deadline, loses its units: the limit frees them with time.
//
// Units taken ahead are of one of two kinds:
//
//	                  lapsing                           with a receipt
//	taken from        one GCRA limit, while all         all other limits
//	                  processes together have used no
//	                  more than comes back within For
//	unused units      come back by themselves           are given back
//	a call takes      a power of two, at most 1/4 of    at most Units
//	                  the units that come back in For
//	a call costs      as much as a call for one unit    a round trip of its own
//	begins after      4 units within half of For        32 units within half of For
//	pays from         6 calls per second of a key       62 calls per second of a key
//	smallest limit    32 units; less with fewer Units   256 units; less with fewer Units
//
// The first call ahead takes these 4 or 32 units. If they are used up within half of For,
// the next call takes enough for all of For, up to eight times as many and up to Units.
//
// Only calls that neither wait nor can be cancelled take units ahead. All others go to the
// store behind. A call of a Limiter that would wait first looks for a unit here.
//
// A unit may be used up to For after its charge. So SlidingWindow, which promises an exact
// bound for every interval, takes nothing ahead. Under GCRA an interval may hold up to
// Units more for each process. Units of a window are never used after its end.
package leasestore
