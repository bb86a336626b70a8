package exact

import "github.com/goweir/weir/internal/product"

const (
	// fullShare is the share of a key whose time runs at full speed.
	fullShare = 64
	// maxGap bounds the time between two units: about 11 days.
	maxGap = int64(1e12)
)

// Clock says how a key's own time v runs, in microseconds. The zero Clock's v is the store's
// time. v never runs faster. The script keeps the same numbers under the same names.
//
//	At, V               v was V at the store's time At
//	Until, Stand        pause: v stands at Stand until Until; Stand 0: it stands
//	                    from the next booking on
//	Unit                time between units at full speed: see Unit
//	Gap, Ends           advertised: v runs at Unit/Gap until Ends
//	Share, Since, Step  cut: v ran at Share/64 at Since, 1/64 faster each Step
//	Next                no slot before this v: units lie apart while v is slow
type Clock struct {
	At, V              int64
	Until, Stand       int64
	Unit               int64
	Gap, Ends          int64
	Share, Since, Step int64
	Next               int64
}

// IsZero reports whether v is the store's time.
func (c *Clock) IsZero() bool { return c.At == 0 }

// Now returns v at a time of the store.
func (c *Clock) Now(t int64) int64 {
	if c.At == 0 {
		return t
	}
	v, from := c.V, c.At
	if c.Until > c.At {
		v = c.run(v, from, min(t, c.Until))
		if c.Stand > 0 {
			v = min(v, max(c.Stand, c.V))
		}
		from = c.Until
	}
	return c.run(v, from, t)
}

// Real returns the first time of the store at which v reaches x. Before At it assumes full speed.
func (c *Clock) Real(x int64) int64 {
	switch {
	case c.At == 0:
		return x
	case x <= c.V && (c.Until <= c.At || c.Stand == 0 || x < c.Stand):
		return c.At - (c.V - x)
	case c.Until <= c.At:
		return c.reach(c.V, c.At, x)
	}
	end := c.run(c.V, c.At, c.Until)
	if c.Stand > 0 && x >= c.Stand && end >= c.Stand {
		return c.reach(max(c.Stand, c.V), c.Until, x)
	}
	if end >= x {
		return c.reach(c.V, c.At, x)
	}
	return c.reach(end, c.Until, x)
}

// run returns v at the time to, given v at the time from, without a pause.
func (c *Clock) run(v, from, to int64) int64 {
	for from < to {
		n, d, end := c.Speed(from)
		if n == d {
			return v + to - from
		}
		end = min(end, to)
		q, _ := MulDiv(end-from, n, d)
		v, from = v+q, end
	}
	return v
}

// reach is the inverse of run: the first time, not before from, at which v reaches x.
func (c *Clock) reach(v, from, x int64) int64 {
	for v < x {
		n, d, end := c.Speed(from)
		if n == d {
			return from + x - v
		}
		q, _ := MulDiv(end-from, n, d)
		if v+q >= x {
			return from + mulDivUp(x-v, d, n)
		}
		v, from = v+q, end
	}
	return from
}

// Speed returns the speed of v at a time, pauses aside, as n/d, and when it changes.
func (c *Clock) Speed(t int64) (n, d, end int64) {
	n, d = 1, 1
	if t < c.Ends && c.Gap > c.Unit {
		n, d, end = c.Unit, c.Gap, c.Ends
	}
	if share := c.share(t); share < fullShare && product.Compare(share, d, n, fullShare) < 0 {
		n, d, end = share, fullShare, c.Since+(share-c.Share+1)*c.Step
	}
	return n, d, end
}

// share returns the part of the full speed that cuts leave, in 64ths.
func (c *Clock) share(t int64) int64 {
	if c.Share == 0 {
		return fullShare
	}
	return min(c.Share+max(t-c.Since, 0)/c.Step, fullShare)
}

// Slow reports whether v runs slower than the store's time, pauses aside.
func (c *Clock) Slow(t int64) bool {
	n, d, _ := c.Speed(t)
	return n != d
}

// Paused reports whether a pause holds all slots at a time.
func (c *Clock) Paused(t int64) bool { return t < c.Until }

// Floor returns the first v from b on at which a slot may lie.
func (c *Clock) Floor(b, t int64) int64 {
	if c.Paused(t) {
		b = max(b, c.Stand)
	}
	return max(b, c.Next)
}

// standing returns the clock after a booking: in a pause v stands at the first slot booked.
func (c Clock) standing(slot, t int64) Clock {
	if c.Paused(t) && c.Stand == 0 {
		c.Stand = slot
	}
	return c
}

// Book notes a slot of cost units. While v is slow, units lie apart: Next is the units'
// time after the slot, but not beyond full speed; at least one unit's time.
func (c *Clock) Book(slot, cost, t int64) {
	if cost == 0 || c.At == 0 {
		return
	}
	*c = c.standing(slot, t)
	if c.Slow(t) {
		ahead := maxGap
		if cost <= maxGap/c.Unit {
			ahead = c.Unit * cost
		}
		c.Next = slot + min(ahead, max(c.Now(c.Lapse())-slot, c.Unit))
	} else if c.Next <= slot {
		c.Next = 0
	}
}

// Lapse returns the time of the store from which v runs at full speed.
func (c *Clock) Lapse() int64 {
	cut := int64(0)
	if c.Share > 0 {
		cut = c.Since + (fullShare-c.Share)*c.Step
	}
	return max(c.Until, c.Ends, cut)
}
