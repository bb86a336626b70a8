// Package leasestore takes units of busy keys ahead, many in one call of the
// store behind it, and decides on them in this process: for keys that are
// asked for so often that even a combined call for each would be too much.
//
// What is taken ahead is charged before it is used, so however many processes
// do this, together they never use more than the limit has admitted. What it
// costs is fairness near the limit: units that lie with one process are refused
// to the others, for [Config].For at most, when what is unused is given back.
// The nearer a limit is to its end, the fewer are taken ahead.
//
// Units of one GCRA limit that come back within For by themselves are best: they
// lapse where they are not used, so that nothing has to be given back. They are
// taken, a quarter of those at a time, as long as all processes together have
// used no more of the limit than comes back within For. Such a call costs the
// store behind no more than one for a single unit, so that keys that are asked
// for six times a second gain by it. All others are taken with a receipt, for
// keys that are asked for 62 times a second.
//
// A key is found to be busy by being asked for: calls take their units one by
// one, until there were 4 of them within half of For, or 32 where there has to be
// a receipt. Then one takes as many ahead, and each time that those are used up
// as soon, the next one takes as many as would have lasted for all of it, up to
// eight times as many, and up to Units; of those that lapse always a power of two,
// as calls for the same number travel together. Less than the 4 or 32 are not
// worth it, so that nothing is taken ahead under limits of less than 32 and 256
// units, unless Units says less.
//
// Only calls that neither wait nor can be cancelled take units ahead, and never
// under SlidingWindow, which promises that no interval holds more: a unit may be
// used up to For later than it was charged. Under GCRA an interval may so hold
// up to Units more for each process than without; a window's units are never
// used after its end. All other calls go to the store as they are, but a call of
// a Limiter that would wait takes a unit that lies here first.
package leasestore
