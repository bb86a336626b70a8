package store

import (
	"context"
	"strconv"
	"time"
)

// MaxLease is the longest lease.
const MaxLease = time.Hour

// Hold limits calls in flight. A request with a Hold is admitted only while
// fewer than Max leases of its first charge's key are alive. It then has a lease
// until it is released, or until Lease after it was last taken or renewed.
//
// Limits decide first. A request refused by a limit reports that limit and takes no lease. A
// request refused by the hold is charged nothing.
//
// A request whose costs are all 0 takes a lease and nothing else: no limit
// delays it or changes. The lease begins with the decision, not with a later
// slot. Cancelling the charges does not release it.
type Hold struct {
	// Max is the maximum number of leases of the key at once, 1 to MaxUnits. Each
	// request brings its own: a lower Max ends no lease.
	Max int64
	// ID tells the lease from all others of the key: 1 to 64 bytes, unique to the request.
	// Another request with the ID of a live lease takes no new lease.
	ID string
	// Lease is how long the lease lives unless it is renewed: whole microseconds
	// from 1 ms to MaxLease.
	Lease time.Duration
	// Next keeps the next free place for this ID alone, for a second. Its caller has waited
	// long, and asks again within. A store of one process may ignore it.
	Next bool
}

// Holder is a Store that decides requests with a [Hold].
type Holder interface {
	// Release ends leases. Releasing an ended or unknown lease is not an error.
	Release(ctx context.Context, scope, key string, ids ...string) error
	// Renew makes leases end that long from now. It returns the ended and unknown leases, and
	// does not take these again.
	Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error)
}

// Asked reports whether the request asks for a lease.
func (h Hold) Asked() bool { return h != Hold{} }

// Validate reports the first wrong field, as a *[ConfigError]; nil for the zero
// Hold.
func (h Hold) Validate() error {
	switch {
	case !h.Asked():
		return nil
	case h.Max < 1 || h.Max > MaxUnits:
		return &ConfigError{Field: "Request.Hold.Max", Want: "1 to 2^50", Got: strconv.FormatInt(h.Max, 10)}
	case h.ID == "" || len(h.ID) > 64:
		return &ConfigError{Field: "Request.Hold.ID", Want: "1 to 64 bytes", Got: strconv.Itoa(len(h.ID))}
	case h.Lease < time.Millisecond || h.Lease > MaxLease || h.Lease%time.Microsecond != 0:
		return &ConfigError{Field: "Request.Hold.Lease", Want: "whole microseconds from 1ms to 1h", Got: h.Lease.String()}
	}
	return nil
}
