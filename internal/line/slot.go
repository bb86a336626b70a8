package line

import (
	"cmp"
	"container/list"
	"context"
	"slices"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// Slot is an instant that the store granted.
type Slot struct {
	At      time.Time     // when it comes
	Comes   store.Instant // the same by the store's clock; 0: unknown
	Clock   store.Clock   // the last known clock of the key; nil: none
	Receipt any           // gives it back; nil: nothing can

	own     store.Instant // At in the key's time; 0: no brake moves the slot
	granted store.Instant // when, by the store's clock
	booked  time.Time     // the same by ours
	from    store.Instant // first instant of brakes that may not have moved it
	sure    time.Time     // since then a brake may have been missed
	limits  []store.Limit // that it was granted under
	took    time.Duration // from question to answer
	spare   time.Duration // by which At may be too late: the answer's time on its way, at most
	lost    bool          // a brake may have moved it out of a window that counted it
	owner   *waiter
}

// waiter is a call in line.
type waiter struct {
	ctx     context.Context
	arrival uint64
	since   time.Time
	bound   time.Time       // takes no slot after this one in exchange; zero: any
	slot    *Slot           // nil once out of the line
	used    *Slot           // in which it was admitted
	excess  time.Duration   // by which its slot leaves too late for it; 0: it does not
	back    <-chan struct{} // closed when the slot that it gave up is back; nil: none
	wake    chan struct{}   // closed when it is out of the line
	heard   store.Instant   // when the last brake was set that moved its slot
	place   *list.Element   // in line.arrivals
}

// isLate reports whether an instant is too late for the waiter.
func (w *waiter) isLate(at time.Time) bool { return !w.bound.IsZero() && w.bound.Before(at) }

// Granted returns the slot of a decision under limits. The question left at asked, and the
// answer came at now.
func Granted(d *store.Decision, limits []store.Limit, asked, now time.Time) *Slot {
	s := &Slot{
		At: now.Add(d.Delay), Clock: d.Clock, Receipt: d.Receipt,
		own: d.Slot, granted: d.At, booked: now, from: d.At, sure: asked, limits: limits,
		took: now.Sub(asked), spare: now.Sub(asked),
	}
	if d.At != 0 {
		s.Comes = d.At + store.Instant(d.Delay.Microseconds())
	}
	if d.Clock != nil {
		s.from = max(s.from, d.Clock.Set()+1)
	}
	return s
}

// early brings a slot forward if another slot shows that it comes earlier: their distance
// is that by the store's clock. It reports whether the slot has moved.
func (s *Slot) early(other *Slot) bool {
	if s.granted == 0 || other.granted == 0 {
		return false
	}
	apart := time.Duration(s.granted-other.granted) * time.Microsecond
	late := min(s.booked.Sub(other.booked)-apart, s.spare)
	if late <= 0 {
		return false
	}
	s.At, s.booked, s.spare = s.At.Add(-late), s.booked.Add(-late), s.spare-late
	return true
}

// compare orders slots by the store's clock, as answers may overtake each other, and the
// slots of one window by their bookings. If that is unknown, or the store's clock has
// stepped, it orders them by our clock.
func (s *Slot) compare(other *Slot) int {
	apart := time.Duration(s.Comes-other.Comes) * time.Microsecond
	if step := apart - s.At.Sub(other.At); step.Abs() > time.Second+s.spare+other.spare {
		return s.At.Compare(other.At)
	}
	return cmp.Or(cmp.Compare(s.Comes, other.Comes), cmp.Compare(s.granted, other.granted), s.At.Compare(other.At))
}

// precedes reports whether a clock may be news for the slot, as messages may overtake each
// other too. A clock set later than now is from before a step back of the store's clock.
func (s *Slot) precedes(c store.Clock) bool {
	age := s.took + time.Since(s.booked)
	now := s.granted + store.Instant((age + age/64 + time.Second).Microseconds()) // at most
	return s.own != 0 && c != nil && c.Set() >= s.from && c.Set() <= now
}

// move moves the slot by a clock of its key, from a message or from a look at the time
// looked. It reports whether the slot is lost.
func (s *Slot) move(c store.Clock, looked time.Time) (lost bool) {
	if looked.After(s.sure) {
		s.sure = looked
	}
	if !s.precedes(c) {
		return s.lost
	}
	before := s.Comes
	s.from, s.owner.heard, s.Clock, s.Comes = c.Set(), c.Set(), c, c.Real(s.own)
	s.At = s.booked.Add(time.Duration(s.Comes-s.granted) * time.Microsecond)
	switch {
	case looked.IsZero():
		s.lost = s.lost || !c.Counts(s.Receipt)
	case s.Comes != before: // There may have been several brakes.
		s.lost = s.lost || slices.ContainsFunc(s.limits, func(l store.Limit) bool { return exact.InRealTime(l.Algorithm) })
	}
	return s.lost
}

// standing returns when a late slot leaves that the pace allows at a time. A pause set since
// the slot came holds it too: the slot leaves that late in the key's time.
func (s *Slot) standing(late time.Time) time.Time {
	by := late.Sub(s.At)
	if by <= 0 || s.own == 0 || s.Clock == nil || s.Clock.Set() <= s.Comes {
		return late
	}
	comes := s.Clock.Real(s.own + store.Instant(by.Microseconds()))
	return later(late, s.booked.Add(time.Duration(comes-s.granted)*time.Microsecond))
}
