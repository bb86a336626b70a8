package flight_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/flight"
)

// errLate is the error of a release whose answer came too late.
var errLate = errors.New("late")

// holder is a store of leases.
type holder struct {
	*flight.Flights
	mu     sync.Mutex
	held   map[string]bool
	max    int
	renews int
	fail   error    // of Release
	loses  bool     // Release has no effect
	forget bool     // Renew has lost all leases
	lost   []string // keys
	order  []string // names of calls, in the order in which they were let in
}

func newHolder(ours int64, max int) *holder {
	h := &holder{held: make(map[string]bool), max: max}
	h.Flights = flight.New(flight.Config{
		Max: ours, Lease: time.Second,
		Release: func(_ string, ids []string) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, id := range ids {
				if (h.fail == nil || h.fail == errLate) && !h.loses {
					delete(h.held, id)
				}
			}
			return h.fail
		},
		Renew: func(_ string, ids []string) ([]string, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.renews++; h.forget {
				return ids, nil
			}
			return nil, nil
		},
		Lost: func(key string) { h.set(func() { h.lost = append(h.lost, key) }) },
	})
	return h
}

// set changes or reads the holder under its lock.
func (h *holder) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// leases returns how many leases the store has.
func (h *holder) leases() (n int) {
	h.set(func() { n = len(h.held) })
	return n
}

// try asks the holder, which takes so long.
func (h *holder) try(name string, takes time.Duration) flight.Try {
	return func(_ context.Context, id string, _ bool) (flight.Answer, bool, time.Duration) {
		time.Sleep(takes)
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.held) >= h.max {
			return flight.Full, false, time.Second
		}
		h.held[id] = true
		h.order = append(h.order, name)
		return flight.Granted, false, 0
	}
}

// gone fails the test if anything is left.
func (h *holder) gone(t *testing.T) {
	t.Helper()
	synctest.Wait()
	if keys, beats := h.Count(); keys != 0 || beats || h.leases() != 0 {
		t.Errorf("%d keys, a heartbeat: %v, %d leases are left", keys, beats, h.leases())
	}
}

func nothing() {}

// TestOrder: calls enter one after the other, in the order of their arrival. Room comes
// from this process or from others.
func TestOrder(t *testing.T) {
	t.Parallel()
	for name, ours := range map[string]int64{"our room": 1, "the room of all": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHolder(ours, 1)
				var wg sync.WaitGroup
				for i, name := range []string{"a", "b", "c"} {
					wg.Go(func() {
						c := flight.Claim{Key: "k", Arrival: uint64(i)}
						if a, _, err := h.Ask(t.Context(), &c, time.Time{}, nothing, h.try(name, 0), nothing); a != flight.Granted || err != nil {
							t.Errorf("%s: %v, %v", name, a, err)
						}
						time.Sleep(10 * time.Millisecond)
						c.Lease.Release()
						c.Lease.Release()
						if c.Lease.Held() {
							t.Errorf("%s is held after its release", name)
						}
					})
					synctest.Wait()
				}
				wg.Wait()
				if !slices.Equal(h.order, []string{"a", "b", "c"}) {
					t.Errorf("let in: %v", h.order)
				}
				h.gone(t)
			})
		})
	}
}

// TestRefused: claims don't wait, wait for too long, or their context ends.
func TestRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder(1, 1)
		first := flight.Claim{Key: "k"}
		waits := func() { t.Error("the first claim waits") }
		if _, _, err := h.Ask(t.Context(), &first, time.Time{}, waits, h.try("a", 0), nothing); err != nil {
			t.Fatal(err)
		}
		never := func(context.Context, string, bool) (flight.Answer, bool, time.Duration) {
			t.Error("the store is asked while this process has all leases")
			return flight.Full, false, 0
		}
		ended, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		for _, tt := range []struct {
			name  string
			ctx   context.Context
			claim flight.Claim
			end   time.Time
			want  error
		}{
			{"a claim that does not wait", t.Context(), flight.Claim{Refuse: true}, time.Time{}, nil},
			{"the longest wait", t.Context(), flight.Claim{}, time.Now().Add(10 * time.Millisecond), flight.ErrMaxWait},
			{"the context", ended, flight.Claim{}, time.Time{}, context.DeadlineExceeded},
		} {
			tt.claim.Key = "k"
			a, retryAfter, err := h.Ask(tt.ctx, &tt.claim, tt.end, nothing, never, nothing)
			if !errors.Is(err, tt.want) || a == flight.Granted || err != tt.ctx.Err() && retryAfter != time.Second {
				t.Errorf("%s: %v, retry after %v, %v", tt.name, a, retryAfter, err)
			}
		}
		first.Lease.Release()
		h.gone(t)
	})
}

// TestRefusedByTheStore: other processes have all leases, and a claim does not wait. It leaves
// no place in line.
func TestRefusedByTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder(9, 0)
		c := flight.Claim{Key: "k", Refuse: true}
		if a, retryAfter, err := h.Ask(t.Context(), &c, time.Time{}, nothing, h.try("a", 0), nothing); a != flight.Full || retryAfter != time.Second || err != nil {
			t.Errorf("%v, retry after %v, %v; want a refusal for a second", a, retryAfter, err)
		}
		h.gone(t)
	})
}

// TestHeartbeat: the heartbeat renews held leases, tries a failed release again, and
// reports lost leases.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder(9, 9)
		claim := func() *flight.Lease {
			c := flight.Claim{Key: "k"}
			if _, _, err := h.Ask(t.Context(), &c, time.Time{}, nothing, h.try("", 0), nothing); err != nil {
				t.Fatal(err)
			}
			return c.Lease
		}
		lease := claim()
		time.Sleep(time.Second)
		h.set(func() {
			if h.renews != 3 && h.renews != 2 {
				t.Errorf("%d renewals in the time of a lease", h.renews)
			}
			h.fail = errors.New("down")
		})
		lease.Release()
		synctest.Wait()
		if h.leases() != 1 {
			t.Fatal("released by a store that is down")
		}
		h.set(func() { h.fail = nil })
		time.Sleep(400 * time.Millisecond)
		h.gone(t)

		lease = claim()
		h.set(func() { h.forget = true })
		time.Sleep(time.Second)
		h.set(func() {
			clear(h.held)
			if len(h.lost) != 1 || h.lost[0] != "k" {
				t.Errorf("lost: %v", h.lost)
			}
		})
		lease.Release()
		h.gone(t)
	})
}

// TestFailedReleases: a release fails after many that failed though the store ended their leases.
func TestFailedReleases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder(2, 2)
		one := func(fail error) {
			c := flight.Claim{Key: "k"}
			if _, _, err := h.Ask(t.Context(), &c, time.Time{}, nothing, h.try("", 0), nothing); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			h.set(func() { h.fail = fail })
			c.Lease.Release()
			synctest.Wait()
		}
		for range 20 {
			one(errLate)
		}
		one(errors.New("down"))
		one(nil)
		h.gone(t)
	})
}

// TestLate: the store takes half of a lease's time, once. The claim asks anew.
func TestLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder(9, 9)
		asked, undone := 0, 0
		try := func(ctx context.Context, id string, _ bool) (flight.Answer, bool, time.Duration) {
			asked++
			return h.try("", 600*time.Millisecond/time.Duration(asked))(ctx, id, false)
		}
		c := flight.Claim{Key: "k"}
		if a, _, err := h.Ask(t.Context(), &c, time.Time{}, nothing, try, func() { undone++ }); a != flight.Granted || err != nil || asked != 2 || undone != 1 {
			t.Errorf("%v, %v, asked %d times, undone %d", a, err, asked, undone)
		}
		synctest.Wait()
		if h.leases() != 1 {
			t.Errorf("%d leases are held", h.leases())
		}
		c.Lease.Release()
		h.gone(t)
	})
}

// TestPatience: other processes have all places. A call that has waited long asks for the
// next one.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder(1, 0)
		start, first := time.Now(), ""
		try := func(_ context.Context, id string, next bool) (flight.Answer, bool, time.Duration) {
			waited := time.Since(start)
			if first == "" {
				first = id
			}
			if id != first || next != (waited > time.Second) {
				t.Errorf("after %v: id %s, next %v", waited, id, next)
			}
			if waited > 3*time.Second {
				return flight.Refused, false, 0
			}
			return flight.Full, false, time.Minute
		}
		c := flight.Claim{Key: "k"}
		if a, _, err := h.Ask(t.Context(), &c, time.Time{}, nothing, try, nothing); a != flight.Refused || err != nil {
			t.Errorf("%v, %v", a, err)
		}
		h.gone(t)
	})
}
