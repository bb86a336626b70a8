package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// stories: random bookings, waits, pauses, lower rates, cancels, settled costs and changes of
// limits. Calls leave in order, never in a pause and never faster than their limits. See
// waiters for the way calls wait.
func stories(r *run) {
	again := 0
	for seed := range long.Of(long.Or(600, 360)) {
		s := newStory(r, fmt.Sprint("story ", seed), rand.New(rand.NewPCG(uint64(seed), 31)))
		for range 60 {
			s.step()
		}
		s.end()
		again += s.again
	}
	r.Logf("%d calls booked again", again)
}

// story is a random sequence of events on one key.
type story struct {
	*waiters
	rng  *rand.Rand
	sets [2][]store.Limit // of two releases; equal in most stories
}

func newStory(r *run, key string, rng *rand.Rand) *story {
	s := &story{rng: rng}
	for range 1 + rng.IntN(2) {
		rate := 3 + rng.Int64N(7)
		l := store.Per(rate, time.Duration(rate+rng.Int64N(10_000_000))*time.Microsecond).By(store.Algorithm(rng.IntN(5)))
		if l.Algorithm == store.GCRA && rng.IntN(2) == 0 {
			l.Burst = 3 + rng.Int64N(8)
		}
		s.sets[0] = append(s.sets[0], l)
	}
	s.sets[1] = s.sets[0]
	if rng.IntN(4) == 0 { // Another release has a lower rate.
		s.sets[0] = s.sets[0][:1]
		narrow := s.sets[0][0]
		narrow.Rate = 3 + rng.Int64N(narrow.Rate-2)
		s.sets[1] = []store.Limit{narrow}
	}
	s.waiters = r.queue(key, s.sets[0]...)
	return s
}

func (s *story) step() {
	l := s.sets[0][0]
	span := func(n int64) time.Duration {
		return time.Duration(s.rng.Int64N(n*l.Period.Microseconds())) * time.Microsecond
	}
	switch n := s.rng.IntN(20); {
	case n < 6:
		s.run.sleep(span(2) / time.Duration(l.Rate) / time.Microsecond * time.Microsecond)
	case n < 7:
		s.run.sleep(span(2))
	case n < 14:
		s.limits = s.sets[s.rng.IntN(2)]
		s.book(1+s.rng.Int64N(3), time.Duration(s.rng.IntN(3))*time.Hour)
	case n < 16:
		s.some(func(c *call, left bool) bool { return !left && s.canCancel() }, s.cancel)
	case n < 17:
		s.some(func(c *call, left bool) bool { return left && c.d.Receipt != nil && s.canSettle() }, s.settle)
	case n < 18:
		s.pause(time.Microsecond + span(3))
	case n < 19 && s.rng.IntN(2) == 0:
		s.brake(store.Brake{Lift: true})
	case s.rng.IntN(2) == 0:
		s.slow = max(s.slow, 64)
		s.brake(store.Brake{Cut: store.Cut{Unit: 1, Recovery: time.Microsecond + span(20), Since: s.now()}})
	default:
		gap := span(1)
		s.slow = max(s.slow, l.Rate*gap.Microseconds()/l.Period.Microseconds()+1)
		s.brake(store.Brake{Tell: true, Gap: gap, GapFor: span(3)})
	}
	s.run.sleep(time.Microsecond)
}

// pause pauses the key. The first waiting call leaves at the end of the pause; exactly then
// under a sliding window alone.
func (s *story) pause(d time.Duration) {
	ahead, again, now := s.ahead(), s.again, s.now()
	end := now + store.Instant(d.Microseconds())
	paused := slices.ContainsFunc(s.pauses, func(p [2]store.Instant) bool { return p[1] > now })
	sooner := slices.ContainsFunc(ahead, func(c *call) bool { return c.leaves < end })
	s.brake(store.Brake{Pause: d})
	if !sooner || paused || s.again > again {
		return
	}
	first := slices.MinFunc(ahead, func(a, b *call) int { return cmp.Compare(a.leaves, b.leaves) })
	exact := len(s.limits) == 1 && s.limits[0].Algorithm == store.SlidingWindow && s.sets[0][0] == s.sets[1][0]
	if late := first.leaves - end; late < 0 || exact && late > store.Instant(s.slow) {
		s.fail("the first call leaves %d after the pause", late)
	}
}

// some applies do to the latest call that fits, if any.
func (s *story) some(which func(c *call, left bool) bool, do func(c *call)) {
	for _, c := range slices.Backward(s.calls) {
		if !c.gone && which(c, c.leaves <= s.now()) && s.rng.IntN(3) == 0 {
			do(c)
			return
		}
	}
}

// settle settles a call that left at a lower cost.
func (s *story) settle(c *call) {
	c.cost = s.rng.Int64N(c.cost + 1)
	s.run.settle(c.d, c.cost)
	s.say("%10d: call %d is settled at %d", s.now()-s.from, c.n, c.cost)
	c.d.Receipt = nil
}

func (s *story) canCancel() bool { return s.run.lacks(cancels) == "" }
func (s *story) canSettle() bool { return s.run.lacks(settles) == "" }

func (s *story) end() {
	s.stop()
	if s.sets[0][0] != s.sets[1][0] {
		if acts := s.acts(); !together(s.sets[0][0], s.sets[1][0], acts) {
			s.fail("%v are together exceeded by %v", describe(append(s.sets[0], s.sets[1]...)), acts)
		}
		return
	}
	s.judge(s.sets[0]...)
}
