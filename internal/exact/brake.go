package exact

import (
	"time"

	"github.com/goweir/weir/store"
)

// Brake is what holds a key back beside its limits, in whole microseconds. The
// zero value holds nothing back. Script and local store keep the same numbers
// and work with them alike.
type Brake struct {
	At    int64 // when it was set last
	Until int64 // the pause: no slot before it
	Next  int64 // the pace: no slot before it, which the last booking set

	// A pace that was told: Gap between units, in force until Ends.
	Gap, Ends int64
	// A pace of our own: Unit is the time between units at the full rate, and
	// Share (of Recovery) the part of that rate which was left at Cut. It grows
	// by one each microsecond, and is the whole after Recovery.
	Unit, Recovery, Share, Cut int64

	// Voided is until when it matters that slots were made void: to those who ask,
	// when their slot comes, whether it is still theirs, or who give it back.
	Voided int64
	// Voids are the instants at which they were last, the latest first; 0: none.
	Voids [mostVoids]int64
}

// mostVoids is how many instants are remembered at which slots were made void.
const mostVoids = 4

const (
	// mostGap bounds the time between two units, and how far ahead a pace holds
	// a key: about 11 days.
	mostGap = int64(1e12)
	// leastShare is the smallest part of the full rate that cuts come to.
	leastShare = 64
	// VoidFrom is how far ahead a slot must lie to be free again when a brake is
	// set. Whoever has a nearer one may be gone before hearing of it.
	VoidFrom = int64(100_000)
	// VoidFor is how long a void slot is remembered after it would have come, for
	// those who are late to ask.
	VoidFor = int64(5_000_000)
)

// Whole returns a duration of a valid store.Brake in whole microseconds, rounded up:
// nothing is slowed down less than was asked for.
func Whole(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }

// Apply sets the brake as a request of now asks, and reports what changed:
// nothing, or that slots booked ahead are void, as they are too early, or too
// late, now.
func (k *Brake) Apply(b *store.Brake, now int64) (changed, void bool) {
	k.shift(now)
	if b.Lift {
		memory := Brake{At: k.At, Voided: k.Voided, Voids: k.Voids}
		if *k == memory {
			return false, false
		}
		*k = memory
		k.At = now
		return true, true
	}
	if until := now + Whole(b.Pause); b.Pause > 0 && until > k.Until {
		k.Until, changed, void = until+Whole(b.Slack), true, true
	}
	if unit := min(Whole(b.Cut.Unit), mostGap/leastShare); unit > 0 && k.cut(&b.Cut, unit, now) {
		changed, void = true, true
	}
	if b.Tell {
		gap, ends, told := min(Whole(b.Gap), mostGap), now+Whole(b.GapFor), k.ToldGap(now)
		void = void || ends > now && gap > told || told > 0 && gap <= told/2
		k.Gap, k.Ends, changed = gap, ends, true
	}
	if changed {
		k.At = now
	}
	return changed, void
}

// cut halves the rate, unless it was cut after the slot of the call that was
// refused: that call says nothing about the new rate.
func (k *Brake) cut(c *store.Cut, unit, now int64) bool {
	if k.Unit > 0 && k.Cut >= int64(c.Since) && k.share(now) < k.Recovery {
		return false
	}
	recovery := max(Whole(c.Recovery), leastShare)
	share := recovery
	if k.Unit > 0 {
		// The share in parts of what may be another recovery.
		share, _ = MulDiv(min(k.share(now), k.Recovery), recovery, k.Recovery)
	}
	k.Unit, k.Recovery, k.Cut = unit, recovery, now
	k.Share = max(share/2, recovery/leastShare, 1)
	return true
}

func (k *Brake) share(at int64) int64 { return k.Share + max(at-k.Cut, 0) }

// ToldGap returns what was told of the least time between two units.
func (k *Brake) ToldGap(at int64) int64 {
	if at < k.Ends {
		return k.Gap
	}
	return 0
}

// Spacing returns the least time between two units at an instant; 0: none.
func (k *Brake) Spacing(at int64) int64 {
	gap := k.ToldGap(at)
	if k.Unit > 0 {
		if share := k.share(at); share < k.Recovery {
			own, _ := MulDiv(k.Unit, k.Recovery, share)
			gap = max(gap, own+1)
		}
	}
	return gap
}

// From returns the earliest instant from b on at which a slot may lie.
func (k *Brake) From(b int64) int64 { return max(b, k.Until, k.Next) }

// Book notes a slot of cost units. They keep others away until the pace ends, and
// no longer: then nothing has to be apart. One unit does for its gap at the least.
func (k *Brake) Book(slot, cost int64) {
	gap := k.Spacing(slot)
	if gap == 0 {
		return
	}
	ahead := mostGap
	if cost <= mostGap/gap {
		ahead = gap * cost
	}
	k.Next = slot + min(ahead, max(k.paceEnds()-slot, gap))
}

// paceEnds returns the instant from which units need not be apart.
func (k *Brake) paceEnds() int64 {
	if k.Unit > 0 {
		return max(k.Ends, k.Cut+k.Recovery-k.Share)
	}
	return k.Ends
}

// Lapse returns the instant from which the brake holds nothing back.
func (k *Brake) Lapse() int64 {
	return max(k.Until, k.Next, k.paceEnds(), k.Voided)
}

// Void drops what slots that are void now, up to the last one, have set.
func (k *Brake) Void(last, now int64) {
	k.Next, k.Voided = min(k.Next, now+VoidFrom), max(k.Voided, last+VoidFor)
	copy(k.Voids[1:], k.Voids[:])
	k.Voids[0] = now
}

// IsVoid reports whether a slot ahead, that was granted at an instant, is void: by the
// first time from then on that slots were made so. Where that is forgotten, it is.
func (k *Brake) IsVoid(slot, granted int64) bool {
	if granted == 0 || slot <= granted || granted > k.Voids[0] {
		return false
	}
	first := k.Voids[0]
	for _, at := range k.Voids[1:] {
		if at < granted {
			return slot > first+VoidFrom
		}
		first = at
	}
	return true
}

// shift moves a brake that was set in the future, as the clock stepped back.
func (k *Brake) shift(now int64) {
	back := k.At - now
	if back <= 0 {
		return
	}
	for _, t := range []*int64{&k.At, &k.Until, &k.Next, &k.Ends, &k.Cut, &k.Voided} {
		*t = max(*t-back, 0)
	}
	for i := range k.Voids {
		k.Voids[i] = max(k.Voids[i]-back, 0)
	}
}
