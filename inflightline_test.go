package weir_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// TestLineWhileOthersAreInFlight: while other processes have all leases, only the
// first call in line asks, less and less often. It goes on when there is room.
func TestLineWhileOthersAreInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldStore(t)
		other, l := newFlightLimiter(t, s, 2), newFlightLimiter(t, s, 2)
		theirs := []*weir.Lease{acquire(t, other, "k"), acquire(t, other, "k")}
		line := newLine(l)
		var leases [10]*weir.Lease
		for i := range leases {
			line.wg.Go(func() {
				lease, err := l.Acquire(context.Background(), "k")
				if err != nil {
					t.Error(err)
				}
				line.mu.Lock()
				leases[i] = lease
				line.ended[i] = outcome{time.Since(line.start), err}
				line.mu.Unlock()
			})
			time.Sleep(10 * time.Microsecond)
		}
		before := s.count("take")
		time.Sleep(10 * time.Second)
		asked := s.count("take") - before
		// A rest is at least half of 250 ms, and at most that.
		if asked < 40 || asked > 90 {
			t.Errorf("asked %d times in 10 s", asked)
		}
		theirs[0].Release()
		time.Sleep(300 * ms)
		if o, ok := line.get(0); !ok || o.err != nil {
			t.Errorf("one was released, the first: %v, %v", ok, o)
		}
		if _, ok := line.get(1); ok {
			t.Error("one was released, the second was let in too")
		}
		theirs[1].Release()
		for i := range leases {
			time.Sleep(300 * ms)
			line.mu.Lock()
			lease := leases[i]
			line.mu.Unlock()
			if lease == nil {
				t.Fatalf("call %d was not let in", i)
			}
			lease.Release()
		}
		line.wg.Wait()
		noFlights(t, l)
		noFlights(t, other)
		s.wantHeld(t, "k", 0)
	})
}

// A call that waits for room ends when MaxWait is over or its context ends,
// and leaves nothing behind.
func TestWaitingForRoomEnds(t *testing.T) {
	t.Parallel()
	for name, far := range map[string]bool{"here": false, "in another process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newHeldStore(t)
				s.trip = 0 // A call that asks the store as MaxWait ends would wait for the answer.
				var told []weir.Event
				var mu sync.Mutex
				l := newFlightLimiter(t, s, 1, func(c *weir.Config) {
					c.MaxWait, c.MaxWaiters = 2*time.Second, 3
					c.Hook = func(_ context.Context, e weir.Event) {
						mu.Lock()
						defer mu.Unlock()
						if e.Kind == weir.EventWait {
							told = append(told, e)
						}
					}
				})
				holder := l
				if far {
					holder = newFlightLimiter(t, s, 1)
				}
				lease := acquire(t, holder, "k")
				ctx, cancel := context.WithCancel(context.Background())
				line := newLine(l)
				try := func(i int, ctx context.Context) {
					line.wg.Go(func() {
						_, err := l.Acquire(ctx, "k")
						line.mu.Lock()
						line.ended[i] = outcome{time.Since(line.start), err}
						line.mu.Unlock()
					})
					synctest.Wait()
				}
				deadline, stop := context.WithTimeout(context.Background(), time.Second)
				defer stop()
				try(0, context.Background())
				try(1, deadline)
				try(2, ctx)
				try(3, context.Background())
				time.Sleep(500 * ms)
				cancel()
				line.wg.Wait()
				line.want(t, 0, 2*time.Second, weir.ErrLimited)
				line.want(t, 1, time.Second, context.DeadlineExceeded)
				line.want(t, 2, 500*ms, context.Canceled)
				line.want(t, 3, 0, weir.ErrLimited)
				var le *weir.LimitedError
				if o, _ := line.get(0); !errors.As(o.err, &le) || le.Reason != weir.ReasonInFlight || boundOf(le) != boundMaxWait || le.RetryAfter <= 0 {
					t.Errorf("MaxWait is over: %#v", o.err)
				}
				if len(told) != 3 {
					t.Errorf("the hook got %d waits, want 3: %v", len(told), told)
				}
				lease.Release()
				noFlights(t, l)
				noFlights(t, holder)
				s.wantHeld(t, "k", 0)
			})
		})
	}
}

// A call that gets a lease with a later slot holds the lease while it waits. A call
// that gives up before its slot gives both back.
func TestRoomAndALaterSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldStore(t)
		l := newFlightLimiter(t, s, 10, func(c *weir.Config) {
			c.Limits, c.Lease = []weir.Limit{weir.PerMinute(1)}, time.Second
		})
		first := acquire(t, l, "k")
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			_, err := l.Acquire(ctx, "k")
			done <- err
		}()
		time.Sleep(30 * time.Second)
		s.wantHeld(t, "k", 2)
		cancel()
		wantKind(t, <-done, "canceled")
		time.Sleep(10 * ms)
		s.wantHeld(t, "k", 1)
		if n := s.count("cancel"); n != 1 {
			t.Errorf("%d slots were given back, want 1", n)
		}
		// Refused by the limit: nothing is held.
		short, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		_, err := l.Acquire(short, "k")
		wantKind(t, err, "limited")
		_, err = l.TryAcquire(context.Background(), "k")
		wantKind(t, err, "limited")
		s.wantHeld(t, "k", 1)
		first.Release()
		noFlights(t, l)
		s.wantHeld(t, "k", 0)
	})
}

// enter starts n calls that wait for room. The returned function returns when the last
// of them has a lease.
func enter(t *testing.T, l *weir.Limiter, n int) (letIn func() time.Duration, leases []*weir.Lease) {
	t.Helper()
	leases = make([]*weir.Lease, n)
	var wg sync.WaitGroup
	for i := range leases {
		wg.Go(func() {
			lease, err := l.Acquire(context.Background(), "k")
			if err != nil {
				t.Error(err)
			}
			leases[i] = lease
		})
	}
	time.Sleep(time.Second)
	return func() time.Duration {
		start := time.Now()
		wg.Wait()
		return time.Since(start)
	}, leases
}

// TestLineMovesAtOnce: the time until the calls in line have leases when there is
// room, in trips to the store.
func TestLineMovesAtOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		theirs    int // leases of another process
		ours      int
		line      int
		letGo     func(theirs, ours []*weir.Lease)
		longest   int // trips
		afterRest bool
	}{
		// One trip to release it and one to take it.
		{name: "one of ours is released", theirs: 7, ours: 1, line: 1, longest: 2, letGo: func(_, ours []*weir.Lease) { ours[0].Release() }},
		// The first release may go alone.
		{name: "all of ours are released", theirs: 4, ours: 4, line: 4, longest: 3, letGo: func(_, ours []*weir.Lease) {
			for _, l := range ours {
				l.Release()
			}
		}},
		// One, two and four more after a rest.
		{name: "all of theirs are released", theirs: 8, line: 7, longest: 3 + 1, afterRest: true, letGo: func(theirs, _ []*weir.Lease) {
			for _, l := range theirs {
				l.Release()
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newHeldStore(t)
				s.trip = 100 * ms
				other, l := newFlightLimiter(t, s, 8), newFlightLimiter(t, s, 8)
				var theirs, ours []*weir.Lease
				for range tt.theirs {
					theirs = append(theirs, acquire(t, other, "k"))
				}
				for range tt.ours {
					ours = append(ours, acquire(t, l, "k"))
				}
				letIn, leases := enter(t, l, tt.line)
				tt.letGo(theirs, ours)
				longest := time.Duration(tt.longest) * s.trip
				if tt.afterRest {
					longest += 250*ms + s.trip // A look may have been on its way.
				}
				if took := letIn(); took > longest {
					t.Errorf("the last was let in after %v, want at most %v", took, longest)
				}
				for _, lease := range slices.Concat(theirs, ours, leases) {
					lease.Release()
				}
				time.Sleep(time.Second)
				noFlights(t, l)
				noFlights(t, other)
			})
		})
	}
}

// TestOppositeOrdersEnd: two requests that take places in flight in opposite orders wait for
// each other until MaxWait, and leave nothing behind.
func TestOppositeOrdersEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldStore(t)
		limiter := func(name string) *weir.Limiter {
			return onLocal(t, weir.Config{Store: s, Name: name, Limits: buckets(plenty), InFlight: 1})
		}
		x, y := limiter("x"), limiter("y")
		var wg sync.WaitGroup
		start := time.Now()
		for _, order := range [][2]*weir.Limiter{{x, y}, {y, x}} {
			tr := overLimiter(t, order[0], transportOK, func(c *weir.TransportConfig) {
				c.MaxWait = time.Minute
				c.Levels = []weir.TransportLevel{{Limiter: order[1], Key: weir.KeyStatic("key")}}
			})
			wg.Go(func() {
				_, err := tr.RoundTrip(getRequest(t, t.Context()))
				wantKind(t, err, "limited")
			})
		}
		wg.Wait()
		if took := time.Since(start); took < time.Minute || took > time.Minute+s.trip {
			t.Errorf("ended after %v, want a minute and at most a trip to the store", took)
		}
		noFlights(t, x)
		noFlights(t, y)
	})
}

// TestLeavingAtOnesTurn: the context of a call ends at the instant of its turn. The
// call goes on or leaves, and holds up no other call.
func TestLeavingAtOnesTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldStore(t)
		l := newFlightLimiter(t, s, 1)
		for range 300 {
			first := acquire(t, l, "k")
			// The turn comes after the release.
			ctx, cancel := context.WithTimeout(context.Background(), s.trip)
			done := make(chan error)
			go func() {
				lease, err := l.Acquire(ctx, "k")
				lease.Release()
				done <- err
			}()
			synctest.Wait()
			first.Release()
			<-done
			cancel()
			acquire(t, l, "k").Release()
			noFlights(t, l)
			s.wantHeld(t, "k", 0)
			if t.Failed() {
				break
			}
		}
	})
}
