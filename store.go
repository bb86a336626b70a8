package weir

import (
	"context"
	"strconv"
	"time"
)

// Store decides and remembers. Implementations are safe for concurrent use.
//
// Package storetest holds the conformance suite; run it on a store of your
// own. What is not an error: a refusal. What is: that no decision could be
// made. A store does not retry a decision that may have been charged.
type Store interface {
	// Take decides all charges of one request together: every limit admits
	// its cost, or nothing changes anywhere. It honours ctx while it waits for
	// its backend, never waits for a slot itself, and does not keep req.
	Take(ctx context.Context, req Request) (Decision, error)
}

// Canceler is a Store that can give back what it granted.
type Canceler interface {
	// Cancel undoes the charges of an allowed decision whose request was
	// Cancelable, given its Receipt. When nobody was charged on the key since,
	// the state is exactly what it was before. Otherwise what can be given
	// back without any limit ever being exceeded is. Cancelling after the
	// state has lapsed is harmless; cancelling twice is a mistake of the
	// caller's that a Reservation prevents.
	Cancel(ctx context.Context, receipt any) error
}

// Settler is a Store that can correct what it granted to what it really cost.
type Settler interface {
	// Settle corrects the charges of an allowed decision whose request was
	// Cancelable, given its Receipt, to costs: one number for all charges, or
	// one for each in the request's order, 0 to MaxUnits. A charge that cost
	// nothing was not booked and is left alone.
	//
	// When nobody was charged on the key since, the state is that which
	// booking the real cost at the same slot would have left. Otherwise, of a
	// cost that was too high, what can be given back without any limit ever
	// being exceeded is: never more than the burst. What was too low is charged
	// in full, even beyond what the limit holds: later calls wait for that
	// debt, though a window forgets it with the units it was booked with, and
	// nobody waits longer for it than MaxPeriod/4 beyond an empty bucket.
	//
	// Settling after the booking has lapsed (its window is over, its bucket is
	// full or was for a while since), after a Reset or when the limits have changed changes
	// nothing, and is no error. Settling twice, or what was cancelled, is a
	// mistake of the caller's that a Reservation prevents.
	Settle(ctx context.Context, receipt any, costs ...int64) error
}

// Resetter is a Store that can forget a key.
type Resetter interface {
	// Reset forgets all that is known of the key: its next call finds full
	// limits. Resetting an unknown key is not an error.
	Reset(ctx context.Context, scope, key string) error
}

// Request is what a Store decides. It is valid when Validate returns nil.
type Request struct {
	// Charges are decided together, all or nothing. Charges with the same
	// Scope and Key are booked at the one instant that suits all. A request
	// whose costs are all 0 and that holds nothing is a peek: it is always
	// allowed, changes nothing, and its decision reports the state.
	Charges []Charge
	// MaxWait is the longest delay a granted reservation may have. 0: now or
	// not at all. Values over MaxPeriod/4 mean that.
	MaxWait time.Duration
	// Cancelable asks for a Decision.Receipt.
	Cancelable bool
	// Hold asks for a lease of the first charge's key, all or nothing with the
	// charges. The zero value asks for none. The store must be a [Holder].
	Hold Hold

	checked bool // made by a Limiter, whose limits were validated
}

// Charge is a key, a limit and a cost.
type Charge struct {
	Scope string // the limiter's name: the same key in two scopes is two keys
	Key   string // who is counted; any text, any length
	Limit Limit
	Cost  int64 // units, 0 to MaxUnits; above Limit.Max it never fits
	// Leave is how many units must be left to others: the charge is admitted only
	// where so many more would be, and takes its Cost alone. 0 to MaxUnits; what
	// does not fit beside the Cost counts as what does.
	Leave int64
}

// Validate reports the first field that is wrong, as a *[ConfigError].
func (r Request) Validate() error {
	if r.checked {
		return nil
	}
	return r.validate()
}

func (r *Request) validate() error {
	if len(r.Charges) == 0 {
		return &ConfigError{Field: "Request.Charges", Want: "at least one charge", Got: "none"}
	}
	if r.MaxWait < 0 {
		return &ConfigError{Field: "Request.MaxWait", Want: "0 or more", Got: r.MaxWait.String()}
	}
	if err := r.Hold.Validate(); err != nil {
		return err
	}
	for i := range r.Charges {
		if err := checkCost(r.Charges[i].Cost); err != nil {
			return err
		}
		if leave := r.Charges[i].Leave; leave < 0 || leave > MaxUnits {
			return &ConfigError{Field: "Charge.Leave", Want: "0 to 2^50", Got: strconv.FormatInt(leave, 10)}
		}
		if err := r.Charges[i].Limit.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Leaves reports whether any of the charges has to leave units.
func (r Request) Leaves() bool {
	for i := range r.Charges {
		if r.Charges[i].Leave > 0 {
			return true
		}
	}
	return false
}

// Need returns how many units a charge that can fit asks to be free: its cost
// and those it has to leave.
func (c *Charge) Need() int64 { return min(c.Cost+c.Leave, c.Limit.Max()) }

// NeverFits returns the index of the first charge whose cost is over what its
// limit can ever admit, or -1.
func (r Request) NeverFits() int {
	for i := range r.Charges {
		if r.Charges[i].Cost > r.Charges[i].Limit.Max() {
			return i
		}
	}
	return -1
}

// Peek reports whether the request only looks: all its costs are 0, and it
// holds nothing.
func (r Request) Peek() bool { return r.Free() && !r.Hold.Asked() }

// Free reports whether all costs are 0.
func (r Request) Free() bool {
	for i := range r.Charges {
		if r.Charges[i].Cost != 0 {
			return false
		}
	}
	return true
}

func checkCost(cost int64) error {
	if cost < 0 {
		return &ConfigError{Field: "cost", Want: "0 or more", Got: strconv.FormatInt(cost, 10)}
	}
	return nil
}
