// Package store is the contract between package weir and its stores. Authors of
// stores implement it; callers use package weir.
//
// A [Store] has one required method, Take. Every other ability is an optional
// interface, which a Limiter looks for:
//
//	Canceler            gives back the units of a request
//	Settler             corrects the units of a request to its real cost
//	Resetter            forgets a key
//	Braker              slows a key down beyond its limits
//	Holder              counts calls in flight
//	Restorer            restores lost state
//	Preparer, Starter   faster ways for the most frequent requests
//
// Package storetest holds the conformance suite for all of them.
package store

import "context"

// Store decides and remembers. Implementations are safe for concurrent use.
//
// A refusal is not an error. A failure to decide is one. A store does not retry
// a decision that may have been charged.
type Store interface {
	// Take decides all charges of one request together: every limit admits its
	// cost, or nothing changes anywhere. It honours ctx while it waits for its
	// backend. It never waits for a slot, and does not keep req.
	Take(ctx context.Context, req Request) (Decision, error)
}

// Canceler is a Store that can give back granted units.
type Canceler interface {
	// Cancel undoes the charges of an allowed decision, given its Receipt. The
	// request was Cancelable.
	//
	// If no later charge of the key is left, the state becomes exactly the one
	// before. Otherwise Cancel gives back as much as exceeds no limit.
	// Cancelling after the state has lapsed is harmless. The caller cancels once.
	Cancel(ctx context.Context, receipt any) error
}

// Settler is a Store that can correct a granted cost to the real one.
type Settler interface {
	// Settle corrects the charges of an allowed decision, given its Receipt. The request
	// was Cancelable. costs holds one number for all charges, or one for each in the
	// request's order, 0 to MaxUnits. A charge with a cost of 0 was not booked and stays as
	// it is.
	//
	// If no other charge was made on the key since, the real cost takes the place of
	// the granted one, at the same slot. Otherwise:
	//
	//   - a smaller cost gives back as much as exceeds no limit, never more than
	//     the burst;
	//   - a larger cost is charged in full, even beyond the limit's capacity. Later
	//     calls wait for that debt. A window forgets the debt with the units of
	//     its booking. No call waits for debt longer than MaxPeriod/4 beyond an
	//     empty bucket.
	//
	// Settling changes nothing, and is no error, after a Reset, and after the booking has
	// lapsed: its window is over, or its bucket was full for a while since. A limit that
	// later calls leave out is corrected as long as the key keeps it. The caller settles
	// once, and never after Cancel.
	Settle(ctx context.Context, receipt any, costs ...int64) error
}

// Resetter is a Store that can forget a key.
type Resetter interface {
	// Reset forgets the key: its next call finds full limits. Resetting an
	// unknown key is not an error.
	Reset(ctx context.Context, scope, key string) error
}
