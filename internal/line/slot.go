package line

import (
	"cmp"
	"time"

	"github.com/goweir/weir/store"
)

// slot is a slot and its owner for now.
type slot struct {
	Slot
	owner *waiter
	// from is the first instant of brakes that may not have moved the slot. As the
	// answers of one store may overtake each other, so may its messages.
	from store.Instant
	// sure is a time by which no earlier brake was missed.
	sure time.Time
}

func newSlot(s Slot) *slot {
	n := &slot{Slot: s, from: s.Granted, sure: s.Asked}
	if s.Clock != nil {
		n.from = max(n.from, s.Clock.Set()+1)
	}
	if s.Comes == 0 {
		n.Comes = store.Instant(s.At.UnixMicro())
	}
	return n
}

// compare orders slots by the store's clock, and by ours where that is unknown: the
// store's answers may overtake each other.
func (s *slot) compare(other *slot) int {
	return cmp.Or(cmp.Compare(s.Comes, other.Comes), cmp.Compare(s.Own, other.Own))
}

// precedes reports whether a clock may be news for the slot.
func (s *slot) precedes(c store.Clock) bool { return s.Own != 0 && c != nil && c.Set() >= s.from }

// move moves the slot by a clock of its key: of a message, or of a look at a time. It
// reports false when a window may count the booking no more.
func (s *slot) move(c store.Clock, looked time.Time) (holds bool) {
	if looked.After(s.sure) {
		s.sure = looked
	}
	if !s.precedes(c) {
		return true
	}
	before := s.Comes
	s.from, s.Clock, s.Comes = c.Set(), c, c.Real(s.Own)
	s.At = s.Booked.Add(time.Duration(s.Comes-s.Granted) * time.Microsecond)
	switch {
	case s.Comes == before: // A message may come twice.
		return true
	case looked.IsZero():
		return c.Counts(s.Receipt, before)
	}
	return !s.Window // There may have been several brakes.
}
