package localstore

import "github.com/goweir/weir/internal/exact"

// mostGraces is how many levels of credit are told apart, as in the script of
// package redisstore.
const mostGraces = 8

// credit is what can be given back of a bucket's bookings without admitting too
// much. Giving back has the bucket fill up sooner, but not beyond a moment at
// which it was full then: so each booking can give back as much as the bucket
// was from full at the first booking of every later slot, at least.
//
// Those are levels that only rise with the slot: the later a booking, the fewer
// come after it. The last is a whole bucket, as nothing comes after. Where there
// are more levels than are kept, a booking gets the one below its own.
//
// It is known since the bucket was last full for a while, while bookings may be cancelled.
// Its zero value, as nil, is that of one that is not known.
type credit struct {
	n      int
	graces [mostGraces]grace
}

// grace is what bookings at slots from an instant on can give back.
type grace struct {
	from  int64
	slack exact.Micros
}

func (c *credit) known() bool { return c != nil && c.n > 0 }

// since is the slot at which the bucket was last full for a while. It tells the
// bookings of now from those that have lapsed.
func (c *credit) since() int64 { return c.graces[0].from }

// value returns a copy.
func (c *credit) value() credit {
	if c == nil {
		return credit{}
	}
	return *c
}

// pass notes a booking at a slot, before which the bucket was to be full at tat.
// full is how far from it an empty one is.
func (c *credit) pass(slot int64, tat, full exact.Micros) {
	ahead := tat
	if ahead.Whole -= slot; ahead.Whole < 0 {
		ahead = exact.Micros{}
	}
	var next graces
	for _, g := range c.graces[:c.n] {
		if g.from < slot && ahead.Less(g.slack) {
			g.slack = ahead
		}
		next.add(g)
	}
	if next.list[next.n-1].from < slot {
		next.add(grace{slot, full})
	}
	c.set(&next)
}

// take gives back up to so much of a booking at a slot, and returns how much.
func (c *credit) take(slot int64, back, full exact.Micros, den int64) exact.Micros {
	own := c.n - 1
	for own >= 0 && c.graces[own].from > slot {
		own--
	}
	if own < 0 {
		return exact.Micros{}
	}
	if slack := c.graces[own].slack; slack.Less(back) {
		back = slack
	}
	// Nothing comes after a booking at the last slot.
	if last := &c.graces[c.n-1]; own < c.n-1 || last.slack != full {
		var next graces
		for i, g := range c.graces[:c.n] {
			if i >= own && g.slack != full {
				g.slack = g.slack.Minus(back, den)
			}
			next.list[i] = g
		}
		left := next.list[own].slack
		for i := range c.n {
			g := next.list[i]
			if i < own && left.Less(g.slack) {
				g.slack = left
			}
			next.add(g)
		}
		c.set(&next)
	}
	return back
}

// graces is a list with room for one more than is kept.
type graces struct {
	n    int
	list [mostGraces + 1]grace
}

// add adds a grace unless it is as much as the one before it.
func (l *graces) add(g grace) {
	if l.n == 0 || l.list[l.n-1].slack != g.slack {
		l.list[l.n] = g
		l.n++
	}
}

// set makes the credit that of a list, without the grace that is the least above
// the one before it if there are too many.
func (c *credit) set(l *graces) {
	if l.n > mostGraces {
		least := 1
		above := func(i int) int64 { return l.list[i].slack.Whole - l.list[i-1].slack.Whole }
		for i := 2; i < l.n-1; i++ {
			if above(i) < above(least) {
				least = i
			}
		}
		l.n--
		copy(l.list[least:], l.list[least+1:])
	}
	c.n = l.n
	clear(c.graces[copy(c.graces[:], l.list[:l.n]):])
}
