package weir

import (
	"context"
	"strconv"
	"time"
)

// MaxLease is the longest lease.
const MaxLease = time.Hour

// Hold limits calls in flight: a request with one is admitted only while fewer
// than Max leases of its first charge's key are alive, and then has one until it
// is released, or until Lease after it was taken or renewed last. Limits are
// asked first: a request that one of them refuses is told of that, and holds
// nothing; one that the hold refuses is charged nothing.
//
// A request whose costs are all 0 takes a lease and nothing else: no limit is
// waited for or changed. The lease begins with the decision, not with a slot that
// is still to come.
// Cancelling the charges does not release it.
type Hold struct {
	// Max is the most leases of the key at once, 1 to MaxUnits. Each request
	// brings its own: where it is lowered, nobody loses a lease.
	Max int64
	// ID tells the lease from all others of the key: 1 to 64 bytes that no other
	// request has. A second one with an ID that is alive takes no lease of its
	// own.
	ID string
	// Lease is how long the lease lives unless it is renewed: whole
	// microseconds from 1 ms to MaxLease.
	Lease time.Duration
}

// Holder is a Store that decides requests with a [Hold].
type Holder interface {
	// Release ends leases. To release what has ended, or never was, is not an
	// error.
	Release(ctx context.Context, scope, key string, ids ...string) error
	// Renew makes leases end that long from now. It returns those that had
	// ended already, or never were: they are not taken again.
	Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error)
}

// Asked reports whether a lease is asked for.
func (h Hold) Asked() bool { return h != Hold{} }

// Validate reports the first field that is wrong, as a *[ConfigError]; nothing
// for the zero Hold.
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
