package store

import (
	"context"
	"time"
)

// Preparer is a Store with a shorter way for the most frequent request: units of
// one key, under one limit known in advance, now or not at all.
type Preparer interface {
	// Prepare returns the shorter way for keys of a scope, under a valid limit. of is the
	// store that the caller would ask otherwise. Prepare returns nil if of is a wrapper around
	// this store: the shorter way must not bypass a wrapper.
	Prepare(of Store, scope string, limit Limit) Prepared
}

// Prepared is a Store's shorter way. It is safe for concurrent use.
type Prepared interface {
	// Take is Store.Take for a request with only one charge of cost units of key. It may leave
	// a request to the Store: then it reports false and has charged nothing. It uses the
	// process's memory alone, so it takes no context.
	Take(key string, cost int64) (o Outcome, done bool, err error)
	// Source is the Source of its decisions.
	Source() Source
}

// Outcome is a Decision on one charge, without the fields that are zero for a
// Prepared or known to its caller. Go keeps structs of up to four fields in registers:
// a fifth field costs a decision 30 ns.
type Outcome struct {
	// RetryAfter is 0 when the charge was made, [Never] when the cost never fits,
	// and otherwise the Decision's.
	RetryAfter time.Duration
	// Remaining, ResetAfter and At are the Decision's.
	Remaining  int64
	ResetAfter time.Duration
	At         Instant
}

// Reason returns ReasonAllowed, ReasonLimited or ReasonNeverFits.
func (o Outcome) Reason() Reason {
	switch o.RetryAfter {
	case 0:
		return ReasonAllowed
	case Never:
		return ReasonNeverFits
	}
	return ReasonLimited
}

// Starter is a Store that can begin a decision and go on by itself. Its caller can wait for
// other things as well, and leave at any time. That saves a wrapping store goroutines.
type Starter interface {
	// Start begins the Take of a valid request and returns without waiting. The request and ctx
	// belong to it until the Started is over. ctx goes to the server. Its end is not reported.
	//
	// It returns nil, and has charged nothing, if only Take can decide. That is so for requests
	// that are Cancelable or ask for a lease. of is the store that the caller would ask
	// otherwise: Start also returns nil if of is a wrapper around this store. A refusal from
	// memory has SourceDenyCache.
	Start(ctx context.Context, of Store, req *Request) Started
}

// Started is a decision under way. It serves one caller, and is over after
// Decision, or when Leave has reported true.
type Started interface {
	// Done receives one value, when the request is decided.
	Done() <-chan struct{}
	// Decision returns the results of Take, once, after the value of Done. done is false if
	// Take must decide after all: nothing was charged.
	Decision() (d Decision, done bool, err error)
	// Leave ends the caller's interest, so that an unsent request need not be sent. It does
	// nothing and reports false if the value of Done is there or about to come.
	Leave() bool
}
