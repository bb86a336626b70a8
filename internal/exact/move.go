package exact

import (
	"time"

	"github.com/goweir/weir/store"
)

// Move is a change of a key's clock. It implements store.Clock.
//
// Windows ahead move with the clock. A fixed window moves with its start. All aligned
// windows move by the whole periods of the first slot ahead, so no two become one.
type Move struct {
	Clock
	Before Clock // until Clock.At
	First  int64 // in the key's time; 0: no slot is ahead
}

// unmoved returns a clock without a change; nil: v is the store's time.
func unmoved(c Clock) *Move {
	if c.IsZero() {
		return nil
	}
	return &Move{Clock: c, Before: c}
}

func (m *Move) paused(t int64) bool { return m != nil && m.Paused(t) }

// Real implements store.Clock.
func (m *Move) Real(slot store.Instant) store.Instant {
	at := m.Clock.Real(int64(slot))
	if m.Stand == 0 && int64(slot) > m.V { // Booked after the pause was set: v stands there.
		at = max(at, m.Until)
	}
	return store.Instant(at)
}

// Set implements store.Clock.
func (m *Move) Set() store.Instant { return store.Instant(m.Clock.At) }

// Gap implements store.Clock.
func (m *Move) Gap(at store.Instant) time.Duration {
	if int64(at) >= m.Ends {
		return 0
	}
	return micros(m.Clock.Gap)
}

// Counts implements store.Clock.
func (m *Move) Counts(receipt any) bool {
	r, ok := receipt.(interface {
		Windows() (slot int64, list []*Window)
	})
	if !ok {
		return true
	}
	slot, list := r.Windows()
	slot, counts := int64(m.Real(store.Instant(slot))), true
	for _, w := range list {
		if w.moved < m.At { // A message may come twice.
			w.Start, w.moved = m.window(w.Algorithm, w.Period, w.Start), m.At
		}
		counts = counts && slot >= w.Start && slot < w.Start+w.Period
	}
	return counts
}

// window returns the start of a window after the move. No window ahead moves into the
// present one, whose units are not known any more.
func (m *Move) window(a store.Algorithm, period, start int64) int64 {
	if start <= m.At || m.First == 0 {
		return start
	}
	if a == store.FixedWindow {
		from := m.Before.Real(m.First)
		by := max(m.Clock.Real(m.First)-from, min(m.At+period-from, 0))
		return max(m.Clock.Real(m.Before.Now(start)), start+by)
	}
	// An instant of a slow key lasts a while. The slot came no sooner than its beginning.
	from := align(max(m.Before.Real(m.First-1)+1, m.Before.Until), period)
	return start + max(align(m.Clock.Real(m.First), period)-from, min(align(m.At, period)+period-from, 0))
}

// Apply returns the clock that a valid brake asks for, and whether it differs from c. unit is
// the time between units that slow v down. first is the first slot ahead; 0: none.
func (c Clock) Apply(b *store.Brake, unit, first, now int64) (Clock, bool) {
	k := c.from(now)
	if b.Lift {
		lifted := Clock{At: now, V: k.V}
		if k.V == now {
			lifted = Clock{}
		}
		return lifted, k.Until > 0 || k.Gap > 0 || k.Share > 0
	}
	changed := false
	if until := now + Whole(b.Pause); b.Pause > 0 && until > k.Until {
		if k.Until == 0 {
			k.Stand = first
		}
		k.Until, changed = until+Whole(b.Slack), true
	}
	if share := k.share(now); b.Cut.Unit > 0 && (share == fullShare || k.Since < int64(b.Cut.Since)) {
		k.Share, k.Since, k.Step, changed = max(share/2, 1), now, max(Whole(b.Cut.Recovery)/fullShare, 1), true
	}
	if b.Tell {
		gap, ends := min(Whole(b.Gap), maxGap), now+Whole(b.GapFor)
		if gap == 0 || ends == now {
			gap, ends = 0, 0
		}
		changed = changed || gap != k.Gap || ends != k.Ends
		k.Gap, k.Ends, k.Unit = gap, ends, unit
	}
	if !changed {
		return c, false
	}
	k.Unit = max(k.Unit, unit)
	if first == 0 && k.Next > k.V {
		// No unit comes closer to the one before than without the brake.
		k.Next = max(k.Next, k.Now(c.Real(k.Next)))
	}
	return k, true
}

// from returns the same clock with At = now, without numbers whose time is over.
func (c Clock) from(now int64) Clock {
	c.At, c.V = now, c.Now(now)
	if c.Until <= now {
		c.Until, c.Stand = 0, 0
	}
	if c.Ends <= now {
		c.Gap, c.Ends, c.Unit = 0, 0, 0
	}
	if c.share(now) == fullShare {
		c.Share, c.Since, c.Step = 0, 0, 0
	}
	if c.Next <= c.V {
		c.Next = 0
	}
	return c
}
