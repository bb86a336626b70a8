package weir_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

// heldStore is a local store a network away, which counts what it is asked for.
type heldStore struct {
	*localstore.Store
	trip  time.Duration         // there and back
	fault func(op string) error // after the store has done it; nil: none
	away  func(op string) error // before
	each  func(d weir.Decision) // of each decision
	mu    sync.Mutex
	calls map[string]int
	ids   map[string]bool
}

func newHeldStore(tb testing.TB) *heldStore {
	tb.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return &heldStore{Store: s, trip: time.Millisecond, calls: map[string]int{}, ids: map[string]bool{}}
}

func (s *heldStore) call(op string, do func() error) error {
	s.mu.Lock()
	s.calls[op]++
	s.mu.Unlock()
	time.Sleep(s.trip / 2)
	if s.away != nil {
		if err := s.away(op); err != nil {
			return err
		}
	}
	err := do()
	time.Sleep(s.trip / 2)
	if s.fault != nil && err == nil {
		err = s.fault(op)
	}
	return err
}

func (s *heldStore) Take(ctx context.Context, req weir.Request) (d weir.Decision, err error) {
	req.Charges = slices.Clone(req.Charges)
	err = s.call("take", func() error {
		s.mu.Lock()
		if req.Hold.Asked() {
			s.ids[req.Hold.ID] = true
		}
		s.mu.Unlock()
		d, err = s.Store.Take(context.WithoutCancel(ctx), req)
		if s.each != nil {
			s.each(d)
		}
		return err
	})
	if err != nil {
		return weir.Decision{}, err
	}
	return d, ctx.Err()
}

func (s *heldStore) Cancel(ctx context.Context, receipt any) error {
	return s.call("cancel", func() error { return s.Store.Cancel(ctx, receipt) })
}

func (s *heldStore) Release(ctx context.Context, scope, key string, ids ...string) error {
	return s.call("release", func() error { return s.Store.Release(ctx, scope, key, ids...) })
}

func (s *heldStore) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	err = s.call("renew", func() error {
		lost, err = s.Store.Renew(ctx, scope, key, lease, ids...)
		return err
	})
	return lost, err
}

func (s *heldStore) count(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// wantHeld fails the test unless the store counts n leases of a key.
func (s *heldStore) wantHeld(t *testing.T, key string, n int64) {
	t.Helper()
	probe := func(most int64) weir.Decision {
		d, err := s.Store.Take(context.Background(), weir.Request{
			Charges: []weir.Charge{{Key: key, Limit: weir.PerSecond(1)}},
			Hold:    weir.Hold{Max: most, ID: "probe", Lease: time.Second},
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if n > 0 && probe(n).Allowed {
		t.Errorf("fewer than %d leases of %q", n, key)
	}
	if d := probe(n + 1); !d.Allowed {
		t.Errorf("more than %d leases of %q", n, key)
	}
	_ = s.Store.Release(context.Background(), "", key, "probe")
}

// plenty refuses nobody in these tests.
var plenty = weir.PerSecond(1_000_000)

func newFlightLimiter(tb testing.TB, s weir.Store, most int64, change ...func(*weir.Config)) *weir.Limiter {
	tb.Helper()
	return newLimiter(tb, s, append([]func(*weir.Config){func(c *weir.Config) {
		c.Limits, c.InFlight = []weir.Limit{plenty}, most
	}}, change...)...)
}

func acquire(t *testing.T, l *weir.Limiter, key string) *weir.Lease {
	t.Helper()
	lease, err := l.Acquire(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// noFlights fails the test when the limiter keeps anything.
func noFlights(t *testing.T, l *weir.Limiter) {
	t.Helper()
	time.Sleep(100 * ms) // for the last release
	if keys, beats := l.Flights(); keys != 0 || beats {
		t.Errorf("%d keys are left, the heartbeat runs: %v", keys, beats)
	}
	nothingLeft(t, l)
}

func TestInFlightConfig(t *testing.T) {
	t.Parallel()
	store := newHeldStore(t)
	for name, tt := range map[string]struct {
		cfg   weir.Config
		field string
	}{
		"negative":               {weir.Config{Store: store, InFlight: -1}, "Config.InFlight"},
		"more than there can be": {weir.Config{Store: store, InFlight: weir.MaxUnits + 1}, "Config.InFlight"},
		"a store that can't":     {weir.Config{Store: freeStore{}, InFlight: 1}, "Config.InFlight"},
		"a lease without calls":  {weir.Config{Store: store, Lease: time.Second}, "Config.Lease"},
		"a short lease":          {weir.Config{Store: store, InFlight: 1, Lease: time.Second - 1}, "Config.Lease"},
		"a long lease":           {weir.Config{Store: store, InFlight: 1, Lease: weir.MaxLease + time.Microsecond}, "Config.Lease"},
		"a lease with half a µs": {weir.Config{Store: store, InFlight: 1, Lease: time.Second + 500}, "Config.Lease"},
		"a negative lease":       {weir.Config{Store: store, InFlight: 1, Lease: -time.Second}, "Config.Lease"},
		"the shortest lease":     {weir.Config{Store: store, InFlight: 1, Lease: time.Second}, ""},
		"the longest lease":      {weir.Config{Store: store, InFlight: weir.MaxUnits, Lease: weir.MaxLease}, ""},
		"no lease":               {weir.Config{Store: store, InFlight: 1}, ""},
		"no bound":               {weir.Config{Store: freeStore{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Limits = []weir.Limit{plenty}
			_, err := weir.New(tt.cfg)
			var ce *weir.ConfigError
			if tt.field == "" && err != nil || tt.field != "" && (!errors.As(err, &ce) || ce.Field != tt.field) {
				t.Errorf("got %v, want a ConfigError of %q", err, tt.field)
			}
		})
	}
}

// Methods whose calls have no end can't be used, and say so.
func TestInFlightNeedsAnEnd(t *testing.T) {
	t.Parallel()
	l := newFlightLimiter(t, newHeldStore(t), 1)
	ctx := context.Background()
	for name, call := range map[string]func() error{
		"Allow":       func() error { _, err := l.Allow(ctx, "k"); return err },
		"AllowLimits": func() error { _, err := l.AllowLimits(ctx, "k", 1, l.Limits()); return err },
		"Wait":        func() error { return l.Wait(ctx, "k") },
		"Reserve":     func() error { _, err := l.Reserve(ctx, "k"); return err },
	} {
		if err := call(); !errors.Is(err, weir.ErrUnsupported) || !strings.Contains(err.Error(), "Acquire") {
			t.Errorf("%s: %v, want ErrUnsupported and what to use", name, err)
		}
	}
	if d, err := l.Peek(ctx, "k"); err != nil || d.Remaining != plenty.Rate {
		t.Errorf("Peek: %+v, %v", d, err)
	}
}

// Without InFlight, Acquire waits and releasing means nothing.
func TestAcquireWithoutInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &gcraStore{}
		l := newLimiter(t, s)
		start := time.Now()
		for range 3 {
			lease := acquire(t, l, "k")
			lease.Release()
			lease.Release()
		}
		if took := time.Since(start); took != 20*ms {
			t.Errorf("three calls took %v, want 20ms", took)
		}
		_, err := l.TryAcquire(context.Background(), "k")
		wantKind(t, err, "limited")
		var none *weir.Lease
		none.Release()
		s.check(t, l, 4, 3)
	})
}

// TestOnlyAsManyInFlight: with one process, calls are let in in order, each
// with one call of the store, and never more than may be.
func TestOnlyAsManyInFlight(t *testing.T) {
	t.Parallel()
	for _, most := range []int64{1, 3, 20} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newHeldStore(t)
				l := newFlightLimiter(t, s, most)
				const calls = 100
				var mu sync.Mutex
				var order []int
				now, peak := int64(0), int64(0)
				var wg sync.WaitGroup
				start := time.Now()
				for i := range calls {
					wg.Go(func() {
						err := l.Do(context.Background(), "k", func(context.Context) error {
							mu.Lock()
							order = append(order, i)
							now++
							peak = max(peak, now)
							mu.Unlock()
							time.Sleep(50 * ms)
							mu.Lock()
							now--
							mu.Unlock()
							return nil
						})
						if err != nil {
							t.Error(err)
						}
					})
					time.Sleep(10 * time.Microsecond)
				}
				wg.Wait()
				took := time.Since(start)
				noFlights(t, l)
				s.wantHeld(t, "k", 0)
				if peak != most {
					t.Errorf("%d in flight at once, want %d", peak, most)
				}
				// Calls that may ask at the same time come back in any order.
				for place, i := range order {
					if off := place - i; off >= int(most) || off <= -int(most) {
						t.Errorf("let in out of order: %v", order)
						break
					}
				}
				if n := s.count("take"); n != calls {
					t.Errorf("%d decisions for %d calls", n, calls)
				}
				if n := s.count("release"); n > calls || most > 3 && n > calls/2 {
					t.Errorf("%d calls of Release for %d calls", n, calls)
				}
				// Two trips for each that takes another's place.
				if longest := time.Duration((calls+most-1)/most)*(50*ms+3*s.trip) + 10*ms; took > longest {
					t.Errorf("took %v, want at most %v", took, longest)
				}
			})
		})
	}
}

// TestLineWhileOthersAreInFlight: while other processes have all leases, only
// the head of the line asks, less and less often, and goes on when there is room.
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
		if n := len(line.ended); n != 1 || line.ended[0].err != nil {
			t.Errorf("one was released, let in: %v", line.ended)
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
				var told []weir.Event
				var mu sync.Mutex
				l := newFlightLimiter(t, s, 1, func(c *weir.Config) {
					c.MaxWait, c.MaxWaiters = 2*time.Second, 3
					c.Hook = weir.HookFunc(func(_ context.Context, e weir.Event) {
						mu.Lock()
						defer mu.Unlock()
						if e.Kind == weir.EventWait {
							told = append(told, e)
						}
					})
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
				if o, _ := line.get(0); !errors.As(o.err, &le) || le.Reason != weir.InFlight || le.Bound != weir.BoundMaxWait || le.RetryAfter <= 0 {
					t.Errorf("MaxWait is over: %#v", o.err)
				}
				if len(told) != 3 {
					t.Errorf("told of %d waits, want 3: %v", len(told), told)
				}
				lease.Release()
				noFlights(t, l)
				noFlights(t, holder)
				s.wantHeld(t, "k", 0)
			})
		})
	}
}

// A call whose lease is granted with a later slot holds it while it waits; one
// that gives up in between gives both back.
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

func TestTryAcquire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldStore(t)
		other, l := newFlightLimiter(t, s, 2), newFlightLimiter(t, s, 2)
		ctx := context.Background()
		refused := func(when string, takes int) {
			t.Helper()
			before, start := s.count("take"), time.Now()
			_, err := l.TryAcquire(ctx, "k")
			var le *weir.LimitedError
			if !errors.As(err, &le) || le.Reason != weir.InFlight || le.Bound != weir.BoundNone || le.RetryAfter <= 0 || le.RetryAfter > weir.DefaultLease {
				t.Errorf("%s: %#v", when, err)
			}
			if took := time.Since(start); took > s.trip || s.count("take")-before != takes {
				t.Errorf("%s: took %v and %d decisions, want %d", when, took, s.count("take")-before, takes)
			}
		}
		mine, err := l.TryAcquire(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		theirs := acquire(t, other, "k")
		refused("another process has the last lease", 1)
		theirs.Release()
		time.Sleep(s.trip)
		two, err := l.TryAcquireN(ctx, "k", 0)
		if err != nil {
			t.Fatal(err)
		}
		refused("this process has all leases", 0)
		mine.Release()
		two.Release()
		noFlights(t, l)
		noFlights(t, other)
	})
}

// enter starts n calls that wait for room, and returns when the last was let in
// after the one returned is called.
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

// TestLineMovesAtOnce: how long those in line take to be let in when there is
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

// TestLeavingAtOnesTurn: a call whose context ends at the instant at which it is
// its turn either goes on or leaves, and holds up nobody.
func TestLeavingAtOnesTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHeldStore(t)
		l := newFlightLimiter(t, s, 1)
		for range 300 {
			first := acquire(t, l, "k")
			// The turn comes when the release has been made.
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
