package store

import (
	"strconv"
	"time"
)

// Request is the question that a Store decides. It is valid when Validate
// returns nil.
type Request struct {
	// Charges are decided together, all or nothing. Charges with the same Scope and Key are
	// booked at the one instant that suits all. A request with only costs of 0 and without a
	// Hold is a peek: it is always allowed, changes nothing, and its decision reports the
	// state.
	//
	// Sliding windows of one key share a log. There a request counts once, with its largest
	// cost under any of them.
	Charges []Charge
	// MaxWait is the longest delay of a granted reservation. 0: now or not at
	// all. Values over MaxPeriod/4 mean MaxPeriod/4.
	MaxWait time.Duration
	// Cancelable asks for a Decision.Receipt.
	Cancelable bool
	// Hold asks for a lease of the first charge's key, all or nothing with the
	// charges. The zero value asks for none. The store must be a [Holder].
	Hold Hold
	// Seen asks a [Restorer] for the states of the limits, with one element for each charge.
	// If the state of a key is younger than Seen.At, Take fails with [ErrLost], and charges
	// nothing. Otherwise it fills in the elements. At becomes 0 if the store decides without
	// its backend. The caller owns the slice. nil: no states.
	Seen []Seen
	// Restore are memories of the charges' keys. A [Restorer] restores them before it decides,
	// in the same round trip. Seen.At of such keys must be 0. Take also returns errors of
	// Restore. nil: none.
	Restore []Memory
	// Checked makes Validate return nil at once: the caller has validated the
	// request. Limiters set it. False: Validate looks at every field.
	Checked bool
}

// Charge is a key, a limit and a cost.
type Charge struct {
	Scope string // the limiter's name: the same key in two scopes is two keys
	Key   string // the counted identity: any text, any length
	Limit Limit
	Cost  int64 // units, 0 to MaxUnits; above Limit.Max it never fits
	// Reserve is a number of units kept for others: the charge is admitted only if
	// Cost+Reserve units are free, and takes Cost. 0 to MaxUnits; it is capped so
	// that Cost+Reserve fits the limit.
	Reserve int64
}

// Validate reports the first wrong field, as a *[ConfigError].
func (r Request) Validate() error {
	if r.Checked {
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
		c := &r.Charges[i]
		if err := CheckCost("cost", c.Cost); err != nil {
			return err
		}
		if c.Reserve < 0 || c.Reserve > MaxUnits {
			return &ConfigError{Field: "Charge.Reserve", Want: "0 to 2^50", Got: strconv.FormatInt(c.Reserve, 10)}
		}
		if err := c.Limit.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// CheckCost returns a *[ConfigError] for field when cost is below 0.
func CheckCost(field string, cost int64) error {
	if cost < 0 {
		return &ConfigError{Field: field, Want: "0 or more", Got: strconv.FormatInt(cost, 10)}
	}
	return nil
}

// Need returns the number of units that must be free for a charge that can fit: its cost and
// its reserve.
func (c *Charge) Need() int64 { return min(c.Cost+c.Reserve, c.Limit.Max()) }

// NeverFits returns the index of the first charge whose cost exceeds its limit's
// capacity, or -1.
func (r Request) NeverFits() int {
	for i := range r.Charges {
		if r.Charges[i].Cost > r.Charges[i].Limit.Max() {
			return i
		}
	}
	return -1
}

// Peek reports whether the request only looks: all its costs are 0, and it has no Hold.
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
