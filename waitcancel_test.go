package weir_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

func TestCancelMostOfThousand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		latency time.Duration // of each give-back
		late    time.Duration // after the cancelling when the first ends
	}{
		{"prompt store", 0, 0},
		// The last of 900 slots is back after 900ms. No call waits for that.
		{"slow store", ms, 20 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &gcraStore{cancel: func(int) error {
					time.Sleep(tt.latency)
					return nil
				}}
				l := newLimiter(t, s)
				if _, err := l.Allow(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
				n := newLine(l)
				ctx, cancel := context.WithCancel(t.Context())
				leave := make(map[int]bool)
				for _, i := range rand.Perm(1000)[:900] {
					leave[i] = true
				}
				for i := range 1000 {
					if leave[i] {
						n.join(ctx, i, "k")
					} else {
						n.join(t.Context(), i, "k")
					}
				}
				time.Sleep(5 * ms)
				cancel()
				n.wg.Wait()
				stayed := 0
				for i := range 1000 {
					if !leave[i] {
						stayed++
						n.want(t, i, time.Duration(stayed)*10*ms, nil)
						continue
					}
					o, _ := n.get(i)
					if o.err != context.Canceled || o.after < 5*ms || o.after > 5*ms+tt.late {
						t.Errorf("call %d ended after %v with %v, want context.Canceled", i, o.after, o.err)
					}
				}
				time.Sleep(time.Second)
				s.check(t, l, 1001, 101)
				if s.inexact != 0 || s.cancels != 900 || s.most != 1 {
					t.Errorf("%d cancels, %d not exact, %d at once, want 900, 0 and 1", s.cancels, s.inexact, s.most)
				}
			})
		})
	}
}

func TestCancelGivesBackExactly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		leave int
		want  []time.Duration // of four calls; 0 for the one that leaves
	}{
		{"first", 0, []time.Duration{0, 10 * ms, 20 * ms, 30 * ms}},
		{"middle", 2, []time.Duration{10 * ms, 20 * ms, 0, 30 * ms}},
		{"last", 3, []time.Duration{10 * ms, 20 * ms, 30 * ms, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := new(gcraStore)
				l := newLimiter(t, s)
				if _, err := l.Allow(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
				n := newLine(l)
				leaving, cancel := context.WithCancel(t.Context())
				for i := range tt.want {
					ctx := t.Context()
					if i == tt.leave {
						ctx = leaving
					}
					n.join(ctx, i, "k")
				}
				cancel()
				synctest.Wait()
				n.want(t, tt.leave, 0, context.Canceled)
				n.join(t.Context(), 4, "k")
				n.wg.Wait()
				for i, after := range append(tt.want, 40*ms) {
					if i != tt.leave {
						n.want(t, i, after, nil)
					}
				}
				s.check(t, l, 6, 5)
				if s.inexact != 0 {
					t.Error("the give-back was not exact")
				}
			})
		})
	}
}

// TestCancelledWaitHasGivenBack: Wait returns after a prompt store has the slot back. A
// program that ended before would lose the slot.
func TestCancelledWaitHasGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &gcraStore{cancel: func(int) error {
			time.Sleep(2 * ms)
			return nil
		}}
		l := newLimiter(t, s)
		if _, err := l.Allow(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*ms, cancel)
		start := time.Now()
		if err := l.Wait(ctx, "k"); err != context.Canceled {
			t.Errorf("got %v, want context.Canceled", err)
		}
		if took := time.Since(start); took != 5*ms {
			t.Errorf("returned after %v, want 5ms", took)
		}
		s.check(t, newLimiter(t, s), 2, 1)
	})
}

func TestCancelStoreThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var events []weir.Event
		s := new(gcraStore)
		l := newLimiter(t, hangingCanceler{s}, func(c *weir.Config) {
			c.Hook = func(ctx context.Context, e weir.Event) {
				if e.Kind == weir.EventStoreCall && errors.Is(e.Err, weir.ErrStore) {
					events = append(events, e)
				}
			}
		})
		n := newLine(l)
		ctx, cancel := context.WithCancel(t.Context())
		n.join(t.Context(), 0, "k")
		for i := 1; i <= 100; i++ {
			n.join(ctx, i, "k")
		}
		cancel()
		n.wg.Wait()
		for i := 1; i <= 100; i++ {
			n.want(t, i, 20*ms, context.Canceled)
		}
		time.Sleep(10 * time.Second)
		s.check(t, l, 101, 101)
		// The rest is abandoned: one event after 5s, not a hundred in 500s.
		if len(events) != 1 || !errors.Is(events[0].Err, weir.ErrStore) || errors.Is(events[0].Err, context.DeadlineExceeded) {
			t.Errorf("events %+v, want one failure of the store", events)
		}
	})
}

type hangingCanceler struct{ *gcraStore }

func (hangingCanceler) Cancel(ctx context.Context, _ any) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestCancelFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, tt := range []struct {
		name string
		fail func() error
	}{
		{"error", func() error { return broken }},
		{"panic", func() error { panic(broken) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &gcraStore{cancel: func(call int) error {
					if call == 0 {
						return tt.fail()
					}
					return nil
				}}
				var errs []error
				l := newLimiter(t, s, func(c *weir.Config) {
					c.Hook = func(_ context.Context, e weir.Event) {
						if e.Kind == weir.EventStoreCall && errors.Is(e.Err, weir.ErrStore) {
							errs = append(errs, e.Err)
						}
					}
				})
				n := newLine(l)
				ctx, cancel := context.WithCancel(t.Context())
				n.join(t.Context(), 0, "k")
				n.join(ctx, 1, "k")
				n.join(ctx, 2, "k")
				cancel()
				n.wg.Wait()
				n.want(t, 1, 0, context.Canceled)
				n.want(t, 2, 0, context.Canceled)
				s.check(t, l, 3, 2)
				var failed *weir.StoreError
				if len(errs) != 1 || !errors.As(errs[0], &failed) || failed.Op != "cancel" {
					t.Errorf("got %v, want one StoreError of cancel", errs)
				}
			})
		})
	}
}

func TestCancelWithoutCanceler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(gcraStore)
		l := newLimiter(t, struct{ weir.Store }{s})
		n := newLine(l)
		ctx, cancel := context.WithCancel(t.Context())
		n.join(t.Context(), 0, "k")
		n.join(ctx, 1, "k")
		n.join(t.Context(), 2, "k")
		cancel()
		n.wg.Wait()
		n.want(t, 1, 0, context.Canceled)
		n.want(t, 2, 10*ms, nil)
		s.check(t, l, 3, 3)
	})
}

func TestCancelDuringStoreCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		granted bool // the store grants a slot although ctx has ended
		ended   time.Duration
		kept    int
	}{
		{"the store gives up", false, 3 * ms, 3},
		{"the store grants all the same", true, 5 * ms, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slow := func(call int) time.Duration {
					if call == 1 {
						return 5 * ms
					}
					return 0
				}
				s := &gcraStore{before: slow}
				if tt.granted {
					s = &gcraStore{after: slow}
				}
				l := newLimiter(t, s)
				if _, err := l.Allow(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
				n := newLine(l)
				ctx, cancel := context.WithCancel(t.Context())
				n.join(ctx, 0, "k")
				n.join(t.Context(), 1, "k")
				n.join(t.Context(), 2, "k")
				time.Sleep(3 * ms)
				cancel()
				n.wg.Wait()
				n.want(t, 0, tt.ended, context.Canceled)
				// A slot counts from the reply. The ended call's reply comes at 5ms, so its
				// slot 10ms ahead is at 15ms.
				first := 10 * ms
				if tt.granted {
					first = 15 * ms
				}
				n.want(t, 1, first, nil)
				n.want(t, 2, 20*ms, nil)
				s.check(t, l, 4, tt.kept)
			})
		})
	}
}

// TestCancelDuringStoreCallGrantedNow: the context ends while the store grants a slot
// that is now.
func TestCancelDuringStoreCallGrantedNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &gcraStore{after: func(int) time.Duration { return 5 * ms }}
		l := newLimiter(t, s)
		n := newLine(l)
		ctx, cancel := context.WithCancel(t.Context())
		n.join(ctx, 0, "k")
		cancel()
		n.wg.Wait()
		n.want(t, 0, 5*ms, context.Canceled)
		s.check(t, l, 1, 0)
	})
}

// TestCancelAtTheSlot: the context ends at the very instant of the slot. The call
// leaves, and its slot is not given back.
func TestCancelAtTheSlot(t *testing.T) {
	t.Parallel()
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			s := new(gcraStore)
			l := newLimiter(t, s)
			n := newLine(l)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n.join(t.Context(), 0, "k")
			n.join(ctx, 1, "k")
			time.AfterFunc(10*ms, cancel)
			n.wg.Wait()
			n.want(t, 1, 10*ms, nil)
			s.check(t, l, 2, 2)
		})
	}
}

// TestWaitOutsideBubbleAfterInside: a limiter keeps no channel and no timer of a
// synctest bubble for its next call.
func TestWaitOutsideBubbleAfterInside(t *testing.T) {
	t.Parallel()
	s := new(gcraStore)
	l := newLimiter(t, s, func(c *weir.Config) { c.Limits = []weir.Limit{weir.Per(1, 100*time.Microsecond)} })
	runs := 0
	wait := func(t *testing.T) {
		var wg sync.WaitGroup
		runs++
		key := fmt.Sprint(runs) // as the clocks of bubbles and of the machine differ
		for range 5 {
			wg.Go(func() {
				if err := l.Wait(t.Context(), key); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	for range 2 {
		synctest.Test(t, wait)
		wait(t)
	}
	nothingLeft(t, l)
}

// overtaken is a localstore whose replies overtake each other.
type overtaken struct{ *localstore.Store }

func (s overtaken) Take(ctx context.Context, r store.Request) (store.Decision, error) {
	d, err := s.Store.Take(ctx, r)
	time.Sleep(rand.N(50 * ms))
	return d, err
}

// TestCancelsOfAWindowGiveBackAll: many slots of a window come at one instant. Cancelled
// waits give them back in the reverse order of their bookings, so the windows behind are
// free again.
func TestCancelsOfAWindowGiveBackAll(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []weir.Algorithm{weir.FixedWindow, weir.AlignedWindow, weir.SlidingCounter} {
		t.Run(algorithm.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := localstore.New(localstore.Config{})
				if err != nil {
					t.Fatal(err)
				}
				l := newLimiter(t, overtaken{s}, func(c *weir.Config) { c.Limits = []weir.Limit{weir.PerSecond(10).By(algorithm)} })
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for range 100 {
					wg.Go(func() { _ = l.Wait(ctx, "k") })
					time.Sleep(time.Microsecond)
				}
				time.Sleep(100 * ms)
				cancel()
				wg.Wait()
				r, err := l.Reserve(t.Context(), "k")
				if err != nil {
					t.Fatal(err)
				}
				if d := r.Delay(); d > time.Second {
					t.Errorf("the next slot comes after %v, want the next window", d)
				}
			})
		})
	}
}

// TestCancelUnlikeCosts ends a program whose calls of unlike costs wait. All their units come
// back.
func TestCancelUnlikeCosts(t *testing.T) {
	t.Parallel()
	window := func(a weir.Algorithm) weir.Limit { return weir.Limit{Rate: 1000, Period: time.Second, Algorithm: a} }
	for _, tt := range []struct {
		name   string
		limit  weir.Limit
		own    bool    // each call has a context of its own
		costs  []int64 // nil: any
		settle bool    // an earlier call costs less, after half of the calls have booked
	}{
		{name: "two costs", limit: weir.PerSecond(1000), costs: []int64{100, 700}},
		{name: "two costs, contexts of their own", limit: weir.PerSecond(1000), own: true, costs: []int64{100, 700}},
		{name: "any costs", limit: weir.PerSecond(1000)},
		{name: "any costs, contexts of their own", limit: weir.PerSecond(1000), own: true},
		{name: "up to the burst", limit: weir.PerSecond(1000), own: true, costs: []int64{100, 500, 1000}},
		{name: "any costs, and a settled one", limit: weir.PerSecond(1000), own: true, settle: true},
		{name: "one cost, and a settled one", limit: weir.PerSecond(1000), own: true, costs: []int64{1000}, settle: true},
		{name: "sliding window", limit: window(weir.SlidingWindow), own: true},
		{name: "sliding window, and a settled cost", limit: window(weir.SlidingWindow), own: true, settle: true},
		{name: "sliding counter", limit: window(weir.SlidingCounter), own: true},
		{name: "fixed window", limit: window(weir.FixedWindow), own: true},
		{name: "aligned window", limit: window(weir.AlignedWindow), own: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				synctest.Test(t, func(t *testing.T) {
					rng := rand.New(rand.NewPCG(seed, 1))
					s, err := localstore.New(localstore.Config{})
					if err != nil {
						t.Fatal(err)
					}
					l := newLimiter(t, s, func(c *weir.Config) { c.Limits = []weir.Limit{tt.limit} })
					first := reserveN(t, l, 1000)
					peek := func() time.Duration {
						d, err := l.Peek(t.Context(), "k")
						if err != nil {
							t.Fatal(err)
						}
						return d.ResetAfter
					}
					start, before := time.Now(), peek()
					all, cancel := context.WithCancel(t.Context())
					var wg sync.WaitGroup
					for i := range 60 {
						cost := 50 + rng.Int64N(850)
						if tt.costs != nil {
							cost = tt.costs[rng.IntN(len(tt.costs))]
						}
						ctx := all
						if tt.own {
							own, stop := context.WithTimeout(all, time.Hour)
							defer stop()
							ctx = own
						}
						wg.Go(func() {
							if err := l.WaitN(ctx, "k", cost); err != context.Canceled {
								t.Errorf("got %v, want canceled", err)
							}
						})
						if time.Sleep(time.Microsecond); tt.settle && i == 30 {
							if err := first.Settle(t.Context(), 990); err != nil {
								t.Fatal(err)
							}
						}
					}
					cancel()
					wg.Wait()
					if after, want := peek(), before-time.Since(start); after > want || after < want && !tt.settle {
						t.Errorf("seed %d: as if never used after %v, want %v", seed, after, want)
					}
				})
			}
		})
	}
}
