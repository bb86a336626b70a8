package exact

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// story is a random sequence of events on one key, and the calls it made.
type story struct {
	*testing.T
	rng    *rand.Rand
	key    Key
	limits []store.Limit
	now    int64
	tags   int64
	calls  []*call // in the order of booking
	pauses [][2]int64
	told   []string // for the log of a failure
	again  int      // calls that were booked again
	moved  bool
}

// call is a booked call.
type call struct {
	n       int
	cost    int64
	slot    int64 // in the key's time
	leaves  int64 // by the store's clock
	receipt *Receipt
	gone    bool // cancelled before it left
}

func (s *story) say(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf("%9d  ", s.now-begun)+fmt.Sprintf(format, args...))
}

const begun = int64(946_684_800_000_000)

func (s *story) charges(cost int64) []store.Charge {
	var list []store.Charge
	for _, l := range s.limits {
		list = append(list, store.Charge{Limit: l, Cost: cost})
	}
	return list
}

func (s *story) book(cost int64, wait time.Duration) {
	s.tags++
	d, r := take(&s.key, &store.Request{Charges: s.charges(cost), MaxWait: wait}, s.now, s.tags)
	if !d.Allowed {
		s.say("%d refused for %v, %v", cost, d.RetryAfter, d.Reason)
		return
	}
	c := &call{len(s.calls), cost, r.Slot, s.now + d.Delay.Microseconds(), r, false}
	s.calls = append(s.calls, c)
	s.say("call %d of %d comes at %d, slot %d", c.n, cost, c.leaves-begun, c.slot-begun)
	for _, o := range s.calls[:c.n] {
		if !o.gone && o.leaves > s.now && o.slot > c.slot {
			s.fail("call %d leaves before call %d", c.n, o.n)
		}
	}
}

func (s *story) fail(format string, args ...any) {
	s.Helper()
	var limits []string
	for i := range s.limits {
		limits = append(limits, fmt.Sprint(s.limits[i].Algorithm, " ", s.limits[i], " burst ", s.limits[i].Burst))
	}
	s.Fatalf("%s\n%v\n%s", fmt.Sprintf(format, args...), limits, strings.Join(s.told, "\n"))
}

func (s *story) brake(b store.Brake) {
	first := int64(0)
	for _, c := range s.calls {
		if !c.gone && c.leaves > s.now && (first == 0 || c.leaves < first) {
			first = c.leaves
		}
	}
	paused := s.key.Clock.Paused(s.now)
	m := s.key.Brake(s.charges(0), &b, s.now)
	s.say("brake %+v: %+v", b, m)
	if m == nil {
		return
	}
	s.moved = true
	if b.Pause > 0 && m.Until > s.now {
		s.pauses = append(s.pauses, [2]int64{s.now, m.Until})
	}
	if b.Lift {
		for i := range s.pauses {
			s.pauses[i][1] = min(s.pauses[i][1], s.now)
		}
	}
	var again []*call
	earliest := int64(0)
	for _, c := range s.calls {
		if c.gone || c.leaves <= s.now {
			continue
		}
		c.leaves = int64(m.Real(store.Instant(c.slot)))
		s.say("call %d moves to %d", c.n, c.leaves-begun)
		if !m.Counts(c.receipt) {
			again = append(again, c)
		}
		if earliest == 0 || c.leaves < earliest {
			earliest = c.leaves
		}
	}
	if b.Pause > 0 && !paused && first > 0 && first < m.Until && m.First > s.key.Clock.V+1 && len(again) == 0 {
		if late := earliest - m.Until; late < 0 || late > 1 && len(s.limits) == 1 && s.limits[0].Algorithm == store.SlidingWindow {
			s.fail("the first call leaves %d after the pause", late)
		}
	}
	for _, c := range again {
		s.again++
		s.cancel(c)
		s.book(c.cost, time.Hour)
	}
}

func (s *story) cancel(c *call) {
	c.gone = true
	s.key.Settle(c.receipt, s.now, func(int) int64 { return 0 })
	s.say("call %d is cancelled", c.n)
}

func (s *story) step() {
	l := s.limits[0]
	switch n := s.rng.IntN(20); {
	case n < 6:
		s.now += s.rng.Int64N(l.Period.Microseconds() / l.Rate * 2)
	case n < 7:
		s.now += s.rng.Int64N(2 * l.Period.Microseconds())
	case n < 14:
		wait := time.Duration(0)
		if s.rng.IntN(3) > 0 {
			wait = time.Hour
		}
		s.book(1+s.rng.Int64N(min(3, l.Max())), wait)
	case n < 16:
		for _, c := range slices.Backward(s.calls) {
			if !c.gone && c.leaves > s.now && s.rng.IntN(3) == 0 {
				s.cancel(c)
				break
			}
		}
	case n < 17:
		for _, c := range slices.Backward(s.calls) {
			if !c.gone && c.leaves <= s.now && s.rng.IntN(3) == 0 && c.receipt != nil {
				to := s.rng.Int64N(c.cost + 1)
				s.key.Settle(c.receipt, s.now, func(int) int64 { return to })
				s.say("call %d is settled at %d", c.n, to)
				c.cost, c.receipt = to, nil
				break
			}
		}
	case n < 18:
		s.brake(store.Brake{Pause: time.Duration(s.rng.Int64N(int64(3 * l.Period)))})
	case n < 19 && s.rng.IntN(2) == 0:
		s.brake(store.Brake{Lift: true})
	case s.rng.IntN(2) == 0:
		s.brake(store.Brake{Cut: store.Cut{Unit: 1, Recovery: time.Duration(s.rng.Int64N(int64(20 * l.Period))), Since: store.Instant(s.now)}})
	default:
		s.brake(store.Brake{Tell: true, Gap: time.Duration(s.rng.Int64N(int64(l.Period))), GapFor: time.Duration(s.rng.Int64N(int64(3 * l.Period)))})
	}
	s.now++
}

// judge checks the limits in another way than they are counted.
func (s *story) judge() {
	var left []*call
	for _, c := range s.calls {
		if !c.gone && c.cost > 0 {
			left = append(left, c)
		}
	}
	slices.SortStableFunc(left, func(a, b *call) int { return cmp.Compare(a.leaves, b.leaves) })
	for _, c := range left {
		for _, p := range s.pauses {
			if c.leaves > p[0] && c.leaves < p[1] && c.receipt != nil && c.receipt.Real > p[0] {
				s.fail("call %d leaves at %d in the pause until %d", c.n, c.leaves-begun, p[1]-begun)
			}
		}
	}
	for _, l := range s.limits {
		p := l.Period.Microseconds()
		for i := range left {
			sum := int64(0)
			for j := i; j < len(left); j++ {
				sum += left[j].cost
				apart := left[j].leaves - left[i].leaves
				var most int64
				switch l.Algorithm {
				case store.GCRA: // Instants are rounded up.
					most, _ = MulDiv(apart+1, l.Rate, p)
					most += l.Max()
				case store.SlidingWindow:
					if most = l.Rate; apart >= p {
						j = len(left)
						continue
					}
				case store.AlignedWindow:
					if most = l.Rate; align(left[i].leaves, p) != align(left[j].leaves, p) {
						j = len(left)
						continue
					}
				default:
					if most = 2 * l.Rate; apart >= p {
						j = len(left)
						continue
					}
				}
				if sum > most {
					s.fail("%v: %d units from call %d at %d to call %d at %d, want %d at most", l, sum, left[i].n, left[i].leaves-begun, left[j].n, left[j].leaves-begun, most)
				}
			}
		}
	}
}

func TestStories(t *testing.T) {
	t.Parallel()
	again, moved := 0, 0
	for seed := range uint64(long.Of(20_000)) {
		rng := newRand(seed)
		s := &story{T: t, rng: rng, now: begun + rng.Int64N(1e9)}
		for range 1 + rng.IntN(2) {
			rate := 1 + rng.Int64N(9)
			l := store.Limit{Rate: rate, Period: time.Duration(rate+rng.Int64N(10_000_000)) * time.Microsecond, Algorithm: store.Algorithm(rng.IntN(5))}
			if l.Algorithm == store.GCRA && rng.IntN(2) == 0 {
				l.Burst = 3 + rng.Int64N(8)
			}
			if l.Max() < 3 {
				l.Rate = 3
			}
			s.limits = append(s.limits, l)
		}
		if len(s.limits) == 2 && s.limits[0].Policy() == s.limits[1].Policy() {
			continue
		}
		for range 60 {
			s.step()
		}
		s.judge()
		again += s.again
		if s.moved {
			moved++
		}
	}
	t.Logf("%d stories with brakes, %d calls booked again", moved, again)
}
