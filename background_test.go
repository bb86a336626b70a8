package weir_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// demand makes calls from goroutines for some time, and returns how many were made.
func demand(t *testing.T, l *weir.Limiter, ctx context.Context, goroutines int, lasts time.Duration) (made *atomic.Int64, done *sync.WaitGroup) {
	made, done = new(atomic.Int64), new(sync.WaitGroup)
	until := time.Now().Add(lasts)
	for range goroutines {
		done.Go(func() {
			for time.Now().Before(until) {
				timed, cancel := context.WithDeadline(ctx, until)
				err := l.Wait(timed, "key")
				cancel()
				if err == nil {
					made.Add(1)
				} else if !errors.Is(err, weir.ErrLimited) && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
					return
				} else {
					return
				}
			}
		})
	}
	return made, done
}

func TestBackgroundGetsWhatIsLeft(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]weir.Limit{
		"gcra":           weir.PerSecond(10),
		"gcra, burst 1":  weir.PerSecond(10).WithBurst(1),
		"sliding window": weir.Per(10, time.Second).By(weir.SlidingWindow),
		"fixed window":   weir.Per(10, time.Second).By(weir.FixedWindow),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: []weir.Limit{limit}})
				behind := weir.InBackground(t.Context())
				// Alone: everything.
				alone, done := demand(t, l, behind, 5, 30*time.Second)
				done.Wait()
				if n := alone.Load(); n < 295 || n > 311 {
					t.Errorf("alone: %d calls in 30 s at 10/s", n)
				}
				// While the others need everything: nothing, after the calls under way.
				time.Sleep(5 * time.Second)
				others, done := demand(t, l, t.Context(), 5, 35*time.Second)
				time.Sleep(1500 * ms) // Not at the instant at which a window ends.
				nothing, done2 := demand(t, l, behind, 5, 30*time.Second)
				done.Wait()
				done2.Wait()
				if n := nothing.Load(); n > 0 {
					t.Errorf("%d background calls while the others need everything", n)
				}
				if n := others.Load(); n < 340 {
					t.Errorf("%d of the others' calls in 35 s at 10/s", n)
				}
				// An occasional call of the others never waits for long.
				time.Sleep(5 * time.Second)
				_, done2 = demand(t, l, behind, 5, 20*time.Second)
				for range 20 {
					time.Sleep(900 * ms)
					start := time.Now()
					if err := l.Wait(t.Context(), "key"); err != nil {
						t.Error(err)
					}
					if took := time.Since(start); took > time.Second {
						t.Errorf("one of the others' waited for %v", took)
					}
				}
				done2.Wait()
			})
		})
	}
}

func TestBackgroundLeavesAShare(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit weir.Limit
		leave int
		want  int
	}{
		"a bucket, by default":   {weir.PerHour(100), 0, 90},
		"a bucket":               {weir.PerHour(100), 25, 75},
		"a window, by default":   {weir.PerHour(100).By(weir.SlidingWindow), 0, 100},
		"a window":               {weir.PerHour(100).By(weir.SlidingWindow), 25, 75},
		"of one unit, nothing":   {weir.PerHour(1), 50, 1},
		"rounded up, by default": {weir.PerHour(9), 0, 8},
		"rounded up":             {weir.PerHour(10).By(weir.SlidingWindow), 11, 8},
		"all but one unit":       {weir.PerHour(3), 99, 1},
		"of two units, one":      {weir.PerHour(2), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: []weir.Limit{test.limit}, Reserve: test.leave})
				for want, ctx := range map[int]context.Context{test.want: weir.InBackground(t.Context())} {
					n := 0
					for range 200 {
						d, err := l.Allow(ctx, "key")
						if err != nil {
							t.Fatal(err)
						}
						if d.Allowed {
							n++
						}
					}
					if n != want {
						t.Errorf("%d background calls, want %d", n, want)
					}
				}
				left := 0
				for range 200 {
					if d, _ := l.Allow(t.Context(), "key"); d.Allowed {
						left++
					}
				}
				if want := int(test.limit.Max()) - test.want; left != want {
					t.Errorf("%d calls of the others afterwards, want %d", left, want)
				}
			})
		})
	}
}

// TestBackgroundInOrder: background calls of a process go in the order of their
// arrival, and one asks at a time.
func TestBackgroundInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(10).WithBurst(1)}})
		n := newLine(l)
		for i := range 10 {
			n.join(weir.InBackground(t.Context()), i, "key")
		}
		n.wg.Wait()
		for i := range 10 {
			n.want(t, i, time.Duration(i)*100*ms, nil)
		}
	})
}

func TestBackgroundIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1).WithBurst(1)}, MaxWait: 1500 * ms})
		behind := weir.InBackground(t.Context())
		n := newLine(l)
		for i := range 4 {
			n.join(behind, i, "key")
		}
		n.wg.Wait()
		n.want(t, 0, 0, nil)
		n.want(t, 1, time.Second, nil)
		for i := 2; i < 4; i++ {
			o, _ := n.get(i)
			var limited *weir.LimitedError
			if !errors.As(o.err, &limited) || boundOf(limited) != boundMaxWait || o.after > 1500*ms {
				t.Errorf("call %d: %v after %v", i, o.err, o.after)
			}
		}
		ctx, cancel := context.WithCancel(behind)
		n = newLine(l)
		n.join(ctx, 0, "another")
		n.join(ctx, 1, "another")
		n.join(ctx, 2, "another")
		time.Sleep(100 * ms)
		cancel()
		n.wg.Wait()
		n.want(t, 1, 100*ms, context.Canceled)
		n.want(t, 2, 100*ms, context.Canceled)
		if d, err := l.Peek(t.Context(), "another"); err != nil || d.ResetAfter > time.Second {
			t.Errorf("cancelled calls took: %+v, %v", d, err)
		}
		for name, leave := range map[string]int{"less than nothing": -1, "everything": 100} {
			if _, err := weir.New(weir.Config{Name: "api", Store: plainStore{}, Limits: l.Config().Limits, Reserve: leave}); !errors.Is(err, weir.ErrConfig) {
				t.Errorf("leaving %s: %v", name, err)
			}
		}
	})
}

// TestBackgroundInFlight: the class and leases go together.
func TestBackgroundInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(100)}, InFlight: 2})
		var wg sync.WaitGroup
		var flying, most atomic.Int64
		for range 50 {
			wg.Go(func() {
				if err := l.Do(weir.InBackground(t.Context()), "key", func(context.Context) error {
					n := flying.Add(1)
					most.Store(max(most.Load(), n))
					time.Sleep(50 * ms)
					flying.Add(-1)
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if most.Load() > 2 {
			t.Errorf("%d in flight", most.Load())
		}
	})
}

// TestBackgroundWaitsOnce: a call that waits for its turn in the background, and then for a
// lease, counts once and begins to wait once.
func TestBackgroundWaitsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(100)}, InFlight: 1, Hook: func(_ context.Context, e weir.Event) {
			if e.Kind == weir.EventWaitBegin {
				begun.Add(1)
			}
		}})
		held := acquire(t, l, "key")
		leases := make(chan *weir.Lease)
		for range 2 {
			go func() {
				lease, err := l.Acquire(weir.InBackground(t.Context()), "key")
				if err != nil {
					t.Error(err)
				}
				leases <- lease
			}()
			synctest.Wait()
		}
		for waiting := int64(2); waiting >= 0; waiting-- {
			time.Sleep(time.Second)
			if n, _ := l.Stats(); n != waiting || begun.Load() != 2 {
				t.Errorf("%d calls wait, want %d; %d began to, want 2", n, waiting, begun.Load())
			}
			held.Release()
			if waiting > 0 {
				held = <-leases
			}
		}
	})
}

// TestBackgroundWaitsForRoomToo: a background call that waits for units, and then for a
// lease, counts once and begins to wait once.
func TestBackgroundWaitsForRoomToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1)}, InFlight: 2, Hook: func(_ context.Context, e weir.Event) {
			if e.Kind == weir.EventWaitBegin {
				begun.Add(1)
			}
		}})
		first := acquire(t, l, "key")
		done := make(chan struct{})
		go func() {
			defer close(done)
			lease, err := l.Acquire(weir.InBackground(t.Context()), "key")
			if err != nil {
				t.Error(err)
			}
			lease.Release()
		}()
		synctest.Wait()
		second, err := l.AcquireN(t.Context(), "key", 0)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if n, _ := l.Stats(); n != 1 || begun.Load() != 1 {
			t.Errorf("%d calls wait and %d began to, want 1 and 1", n, begun.Load())
		}
		first.Release()
		second.Release()
		<-done
	})
}

// TestBackgroundReserve: a background call does not wait, so no bound on waiting
// refuses it.
func TestBackgroundReserve(t *testing.T) {
	t.Parallel()
	for name, maxWait := range map[string]time.Duration{"no longest wait": 0, "a longest wait": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1)}, MaxWait: maxWait})
				ctx, cancel := context.WithTimeout(weir.InBackground(t.Context()), time.Hour)
				defer cancel()
				if _, err := l.Reserve(ctx, "key"); err != nil {
					t.Fatal(err)
				}
				_, err := l.Reserve(ctx, "key")
				var limited *weir.LimitedError
				if !errors.As(err, &limited) || boundOf(limited) != boundNone || limited.RetryAfter != time.Second {
					t.Errorf("got %v, want a refusal without a bound", err)
				}
			})
		})
	}
}

// TestBackgroundFirstInLine: the first call in line is refused at once if its bound
// comes before it would ask again.
func TestBackgroundFirstInLine(t *testing.T) {
	t.Parallel()
	window := weir.Per(1, 3*time.Second).By(weir.SlidingWindow) // Asked again 5 ms after it is free.
	for name, test := range map[string]struct {
		limit             weir.Limit
		maxWait, deadline time.Duration
		after             time.Duration // when the call ends
		want              bound         // boundNone: admitted
		retry             time.Duration
	}{
		"a window, MaxWait as it ends":          {window, 3 * time.Second, 0, 0, boundMaxWait, 3005 * ms},
		"a window, MaxWait before the courtesy": {window, 3004 * ms, 0, 0, boundMaxWait, 3005 * ms},
		"a window, MaxWait with the courtesy":   {window, 3005 * ms, 0, 3005 * ms, boundNone, 0},
		"a window, deadline as it ends":         {window, 0, 3 * time.Second, 0, boundDeadline, 3005 * ms},
		"a window, deadline with the courtesy":  {window, 0, 3005 * ms, 0, boundDeadline, 3005 * ms},
		"a window, deadline afterwards":         {window, 0, 3006 * ms, 3005 * ms, boundNone, 0},
		"a bucket, deadline at the slot":        {weir.Per(1, 3*time.Second), 0, 3 * time.Second, 0, boundDeadline, 3 * time.Second},
		"a bucket, MaxWait at the slot":         {weir.Per(1, 3*time.Second), 3 * time.Second, 0, 3 * time.Second, boundNone, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: []weir.Limit{test.limit}, MaxWait: test.maxWait})
				if err := l.Wait(t.Context(), "key"); err != nil {
					t.Fatal(err)
				}
				ctx := weir.InBackground(t.Context())
				if test.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.deadline)
					defer cancel()
				}
				start := time.Now()
				err := l.Wait(ctx, "key")
				if took := time.Since(start); took != test.after {
					t.Errorf("ended after %v, want %v", took, test.after)
				}
				var limited *weir.LimitedError
				switch {
				case test.want == boundNone && err != nil:
					t.Errorf("got %v, want it admitted", err)
				case test.want != boundNone && (!errors.As(err, &limited) || boundOf(limited) != test.want || limited.RetryAfter != test.retry):
					t.Errorf("got %v, want a refusal by bound %v, retry after %v", err, test.want, test.retry)
				}
			})
		})
	}
}

// TestBackgroundBehindTheFirst: MaxWait refuses a call behind the first in line. Its
// error has the reason and RetryAfter of the first call's last refusal.
func TestBackgroundBehindTheFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pause  time.Duration
		reason weir.Reason
		retry  time.Duration
	}{
		"limited": {0, weir.ReasonLimited, 7 * time.Second},
		"paused":  {8 * time.Second, weir.ReasonPaused, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.Per(1, 10*time.Second)}, MaxWait: 3 * time.Second})
				ctx := weir.InBackground(t.Context())
				if test.pause == 0 {
					if err := l.Wait(ctx, "key"); err != nil {
						t.Fatal(err)
					}
				} else if err := l.Pause(ctx, "key", test.pause); err != nil {
					t.Fatal(err)
				}
				go func() { _ = l.WaitMax(ctx, "key", 1, time.Minute) }()
				synctest.Wait()
				start := time.Now()
				err := l.Wait(ctx, "key")
				var limited *weir.LimitedError
				if !errors.As(err, &limited) || time.Since(start) != 3*time.Second {
					t.Fatalf("got %v after %v, want a refusal after MaxWait", err, time.Since(start))
				}
				if limited.Reason != test.reason || boundOf(limited) != boundMaxWait || limited.RetryAfter != test.retry {
					t.Errorf("got %+v, want %v, retry after %v", limited, test.reason, test.retry)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestBackgroundBehindAStoreThatHangs: MaxWait refuses a call before the store has
// answered the first in line. The error still says when to retry.
func TestBackgroundBehindAStoreThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &gcraStore{before: func(int) time.Duration { return time.Minute }}
		l := newLimiter(t, s, func(c *weir.Config) { c.MaxWait = time.Second })
		ctx := weir.InBackground(t.Context())
		go func() { _ = l.Wait(ctx, "k") }()
		synctest.Wait()
		err := l.Wait(ctx, "k")
		var limited *weir.LimitedError
		if !errors.As(err, &limited) || limited.RetryAfter <= 0 || limited.Limit != l.Config().Limits[0] || strings.Contains(err.Error(), " 0s") {
			t.Errorf("got %v, want a refusal that says when to retry", err)
		}
		time.Sleep(time.Hour)
	})
}
