package redisstore

import (
	"errors"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestWindowsOfDifferentCostsChange: where the windows of a key are charged
// different costs and others come in their places, each goes on with its own units.
func TestWindowsOfDifferentCostsChange(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	type part struct {
		rate   int64
		period time.Duration
		cost   int64
	}
	request := func(parts ...part) (req store.Request) {
		for _, p := range parts {
			req.Charges = append(req.Charges, store.Charge{Key: "key", Cost: p.cost, Limit: store.Per(p.rate, p.period).By(store.SlidingWindow)})
		}
		return req
	}
	type step struct {
		after   time.Duration
		req     store.Request
		allowed bool
		left    int64
	}
	second, minute := time.Second, time.Minute
	for name, steps := range map[string][]step{
		"one goes, and the other is full": {
			{0, request(part{5, second, 0}, part{8, minute, 3}), true, 5},
			{5 * time.Microsecond, request(part{8, minute, 0}), true, 5},
			{5 * time.Microsecond, request(part{8, minute, 7}), false, 5},
			{0, request(part{8, minute, 5}), true, 0},
		},
		"one goes, and the other moves on": {
			{0, request(part{5, second, 1}, part{8, second, 4}), true, 4},
			{600 * time.Millisecond, request(part{8, second, 4}), true, 0},
			{400*time.Millisecond + time.Microsecond, request(part{8, second, 2}), true, 2},
		},
		"they change places": {
			{0, request(part{50, second, 1}, part{8, second, 4}), true, 4},
			{0, request(part{8, second, 0}, part{50, second, 0}), true, 4},
			{0, request(part{8, second, 4}, part{50, second, 1}), true, 0},
			{second + time.Microsecond, request(part{8, second, 8}, part{50, second, 1}), true, 0},
		},
		"one is added": {
			{0, request(part{8, minute, 3}), true, 5},
			{0, request(part{5, second, 1}, part{8, minute, 1}), true, 1},
			{0, request(part{5, second, 2}, part{8, minute, 1}), false, 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, sleep := newStill(t, c, name+":")
			for i, st := range steps {
				sleep(st.after)
				if d := take(t, s, st.req); d.Allowed != st.allowed || d.Remaining != st.left {
					t.Errorf("step %d: %+v, want %t and %d left", i, d, st.allowed, st.left)
				}
			}
		})
	}
}

// TestWindowsChangeOverADamagedLog: nothing is changed of a log that somebody else
// has damaged, wherever in it that is.
func TestWindowsChangeOverADamagedLog(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s := newStore(t, c)
	a, b := store.Per(50, time.Minute).By(store.SlidingWindow), store.Per(80, time.Hour).By(store.SlidingWindow)
	take(t, s, charge("key", 1, a, b))
	_, log := s.keys("", "key")
	c.RPush(t.Context(), log, "what?")
	c.RPush(t.Context(), log, c.LIndex(t.Context(), log, 0).Val())
	before := c.Dump(t.Context(), log).Val()
	if _, err := s.Take(t.Context(), charge("key", 1, b, a)); !errors.Is(err, ErrState) {
		t.Errorf("%v, want ErrState", err)
	}
	if c.Dump(t.Context(), log).Val() != before {
		t.Errorf("the log is %q", c.LRange(t.Context(), log, 0, -1).Val())
	}
}
