package plainstore

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/goweir/weir/internal/rediscall"
	"github.com/redis/go-redis/v9"
)

func TestWindowEnds(t *testing.T) {
	t.Parallel()
	m, _, s := miniServer(t)
	l := per(2, 1500*time.Millisecond)
	for range 3 {
		take(t, s, charge("k", 2, l))
		d := take(t, s, charge("k", 1, l))
		if d.Allowed {
			t.Fatalf("third of two: %+v", d)
		}
		// Time in miniredis stands still, so that its keys end a millisecond earlier.
		m.FastForward(d.RetryAfter - 2*time.Millisecond)
		if d := take(t, s, charge("k", 1, l)); d.Allowed || d.RetryAfter != 2*time.Millisecond {
			t.Errorf("before the window's end: %+v", d)
		}
		m.FastForward(2 * time.Millisecond)
	}
}

func TestPeriodsAreRoundedUp(t *testing.T) {
	t.Parallel()
	_, c, s := miniServer(t)
	for period, want := range map[time.Duration]time.Duration{
		time.Microsecond:        time.Millisecond,
		time.Millisecond:        time.Millisecond,
		1001 * time.Microsecond: 2 * time.Millisecond,
		2 * time.Millisecond:    2 * time.Millisecond,
	} {
		key := period.String()
		if d := take(t, s, charge(key, 1, per(1, period))); d.ResetAfter != want+time.Millisecond {
			t.Errorf("%v: ResetAfter %v", period, d.ResetAfter)
		}
		if ttl := c.PTTL(context.Background(), counter(key, 0)).Val(); ttl != want {
			t.Errorf("%v: TTL %v, want %v", period, ttl, want)
		}
	}
}

// TestWindowBegins: a window begins with the first unit that it admits.
func TestWindowBegins(t *testing.T) {
	t.Parallel()
	one, two := per(1, time.Minute), per(2, 10*time.Second)
	onlySecond := charge("k", 1, one, two)
	onlySecond.Charges[0].Cost = 0
	onlyFirst := charge("k", 1, one, two)
	onlyFirst.Charges[1].Cost = 0
	for name, before := range map[string]func(t *testing.T, m *miniredis.Miniredis, c *redis.Client, s *Store){
		"not with a refused call": func(t *testing.T, m *miniredis.Miniredis, _ *redis.Client, s *Store) {
			take(t, s, charge("k", 1, one, two))
			m.FastForward(11 * time.Second)
			for range 2 {
				if take(t, s, charge("k", 1, one, two)).Allowed {
					t.Fatal("allowed")
				}
			}
		},
		"not with a free charge": func(t *testing.T, m *miniredis.Miniredis, _ *redis.Client, s *Store) {
			if d := take(t, s, onlyFirst); !d.Allowed || d.Charge(1).ResetAfter != 0 {
				t.Fatalf("%+v", d)
			}
			if m.Exists(counter("k", 1)) {
				t.Error("there is a window")
			}
		},
		"not with units that come back too late": func(t *testing.T, m *miniredis.Miniredis, c *redis.Client, s *Store) {
			take(t, s, charge("k", 1, one, two))
			var late sync.Once
			c.AddHook(afterPipeline(func() { late.Do(func() { m.FastForward(11 * time.Second) }) }))
			if take(t, s, charge("k", 1, one, two)).Allowed {
				t.Fatal("allowed")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, c, s := miniServer(t)
			before(t, m, c, s)
			if d := take(t, s, charge("k", 0, one, two)); d.Charge(1).Remaining != 2 || d.Charge(1).ResetAfter != 0 {
				t.Errorf("before the first unit: %+v", d.Charges)
			}
			m.FastForward(7 * time.Second)
			if d := take(t, s, onlySecond); !d.Allowed || d.Charge(1).Remaining != 1 || d.Charge(1).ResetAfter != 10*time.Second+time.Millisecond {
				t.Errorf("the first unit: %+v", d)
			}
			m.FastForward(4 * time.Second)
			if d := take(t, s, onlySecond); !d.Allowed || d.Charge(1).Remaining != 0 || d.Charge(1).ResetAfter != 6*time.Second+time.Millisecond {
				t.Errorf("4 s later: %+v", d.Charges)
			}
		})
	}
}

func TestFreeChargeOfAFullLimit(t *testing.T) {
	t.Parallel()
	_, _, s := miniServer(t)
	req := charge("k", 1, per(1, time.Minute), per(2, time.Hour))
	take(t, s, req)
	req.Charges[0].Cost = 0
	if d := take(t, s, req); !d.Allowed || d.Charge(0).Remaining != 0 || d.Charge(0).ResetAfter != time.Minute+time.Millisecond {
		t.Errorf("%+v", d)
	}
}

// TestContextEnds: the store takes units of a refused call back after the end of the
// context.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	_, c, s := miniServer(t)
	one, hundred := per(1, time.Minute), per(100, time.Hour)
	take(t, s, charge("k", 1, one, hundred))
	var counted atomic.Pointer[context.CancelFunc]
	c.AddHook(afterPipeline(func() {
		if end := counted.Load(); end != nil {
			(*end)()
		}
	}))
	for range 10 {
		ctx, cancel := context.WithCancel(context.Background())
		counted.Store(&cancel)
		if d, err := s.Take(ctx, charge("k", 1, one, hundred)); err == nil && d.Allowed {
			t.Fatalf("a second of one: %+v", d)
		}
	}
	d := take(t, s, charge("k", 0, one, hundred))
	for range 100 {
		if d.Charge(1).Remaining == 99 {
			return
		}
		time.Sleep(rediscall.Grace)
		d = take(t, s, charge("k", 0, one, hundred))
	}
	t.Errorf("after one of 100: %+v", d.Charges)
}
