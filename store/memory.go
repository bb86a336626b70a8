package store

import (
	"context"
	"errors"
	"strconv"
)

// Used is the used part of a limit, as its algorithm counts.
//
//	                At                           Units                Before
//	GCRA            theoretical arrival time     its rest, see below  –
//	SlidingWindow   slot of the newest unit      units that count     –
//	SlidingCounter  start of the last window     its units            units of the window before
//	FixedWindow     start of the last window     its units            –
//	AlignedWindow   start of the last window     its units            –
//
// The rest is less than a microsecond: a number over the denominator of Period/Rate in
// microseconds and lowest terms.
type Used struct {
	At            Instant
	Units, Before int64
}

// Seen is the state of one charge's limit at a decision. See Request.Seen.
type Seen struct {
	// At is the store's time at its last answer; 0: it gave none.
	At Instant
	// Used is the state of the limit then.
	Used Used
	// Last is the slot of the request, if it is booked ahead; 0: it is not.
	Last Instant
}

// ErrLost is returned by Take if the state of a key is younger than the caller's memory of
// it: the store has lost the earlier state. Nothing was charged. The caller calls Restore,
// and Take again.
var ErrLost = errors.New("store: the state of the key was lost")

// Memory is a caller's memory of a key. Instants are by the store's clock.
type Memory struct {
	Scope, Key string
	Limits     []Limit

	// At, Known and Last are the last answer of the store: see Seen. Known has one element
	// for each limit. At is 0 without an answer.
	At    Instant
	Known []Used
	Last  Instant

	// Spent are the units that the caller has admitted without the store, for each limit, as
	// if no other caller had taken any; nil: none.
	Spent []Used
	// Ahead is the last slot that the caller has granted without the store; 0: none.
	Ahead Instant
	// SpentAt is the instant of the last unit in Spent. A later Reset forgets Spent, too. 0:
	// now.
	SpentAt Instant
	// ID tells this spending from all others of the key. A caller without an answer sends it
	// again within ten minutes, perhaps with more units. The store adds only the new ones.
	ID string
}

// Validate reports the first wrong field, as a *[ConfigError].
func (m *Memory) Validate() error {
	if len(m.Limits) == 0 {
		return &ConfigError{Field: "Memory.Limits", Want: "at least one limit", Got: "none"}
	}
	for i := range m.Limits {
		if err := m.Limits[i].Validate(); err != nil {
			return err
		}
	}
	for _, f := range [...]struct {
		name string
		at   Instant
	}{{"At", m.At}, {"Last", m.Last}, {"Ahead", m.Ahead}, {"SpentAt", m.SpentAt}} {
		if f.at < 0 || f.at >= 1<<53 {
			return &ConfigError{Field: "Memory." + f.name, Want: "0 to 2^53", Got: strconv.FormatInt(int64(f.at), 10)}
		}
	}
	if err := m.checkUsed("Memory.Known", m.Known, m.At > 0); err != nil {
		return err
	}
	return m.checkUsed("Memory.Spent", m.Spent, false)
}

// checkUsed reports the first wrong state of a field. A field that is not required may be nil.
func (m *Memory) checkUsed(field string, list []Used, required bool) error {
	if len(list) != len(m.Limits) && (list != nil || required) {
		return &ConfigError{Field: field, Want: "one element for each limit", Got: strconv.Itoa(len(list))}
	}
	for i := range list {
		if u := &list[i]; !u.of(&m.Limits[i]) {
			return &ConfigError{Field: field, Want: "numbers of 0 to 2^51, a rest below a microsecond", Got: strconv.FormatInt(u.Units, 10)}
		}
	}
	return nil
}

// of reports whether u may be the state of a limit.
func (u *Used) of(l *Limit) bool {
	const units = 1 << 51
	most := int64(units)
	if l.Algorithm == GCRA {
		a, b := l.Period.Microseconds(), l.Rate
		for b != 0 {
			a, b = b, a%b
		}
		most = l.Rate/a - 1
	}
	return min(u.Units, u.Before) >= 0 && u.At >= 0 && u.At < 1<<53 && u.Units <= most && u.Before <= units
}

// Restorer is a Store that can restore lost states, and add units that were admitted
// without it. It implements Request.Seen and Request.Restore, too.
type Restorer interface {
	// Restore makes the state of a key the same as without the loss. Any number of callers may
	// restore a key, in any order.
	//
	// If the state is younger than m.At, it becomes the maximum of all callers' Known, plus
	// the units since its birth. Then lost is true. Otherwise the store has kept the state,
	// and Known changes nothing.
	//
	// Restore adds Spent in both cases, as far as it still counts. It fills the limits to
	// the brim at most, except for slots up to Ahead.
	Restore(ctx context.Context, m Memory) (lost bool, err error)
}
