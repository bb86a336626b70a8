package weir_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// settlerStore is a gcraStore that notes the settled costs.
type settlerStore struct {
	gcraStore
	fail  func(ctx context.Context) error
	costs []int64
}

func (s *settlerStore) Settle(ctx context.Context, receipt any, costs ...int64) error {
	if s.fail != nil {
		if err := s.fail(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		s.misused = append(s.misused, "settled with a context that is over")
	}
	g := receipt.(*grant)
	if g.cancelled {
		s.misused = append(s.misused, "settled twice")
	}
	g.cancelled = true
	s.costs = append(s.costs, costs...)
	return nil
}

func reserveN(t *testing.T, l *weir.Limiter, cost int64) *weir.Reservation {
	t.Helper()
	r, err := l.ReserveN(t.Context(), "k", cost)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReservationSettle(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		do   func(ctx context.Context, r *weir.Reservation) error
		want []int64 // the costs that the store settles
		is   error
	}{
		{"less", t.Context(), func(ctx context.Context, r *weir.Reservation) error { return r.Settle(ctx, 3) }, []int64{3}, nil},
		{"more than the burst", t.Context(), func(ctx context.Context, r *weir.Reservation) error { return r.Settle(ctx, 1500) }, []int64{1500}, nil},
		{"nothing", t.Context(), func(ctx context.Context, r *weir.Reservation) error { return r.Settle(ctx, 0) }, []int64{0}, nil},
		{"the most", t.Context(), func(ctx context.Context, r *weir.Reservation) error { return r.Settle(ctx, store.MaxUnits) }, []int64{store.MaxUnits}, nil},
		{"the estimate", t.Context(), func(ctx context.Context, r *weir.Reservation) error { return r.Settle(ctx, 10) }, nil, nil},
		{"after the context", over, func(ctx context.Context, r *weir.Reservation) error { return r.Settle(ctx, 3) }, []int64{3}, nil},
		{"twice", t.Context(), func(ctx context.Context, r *weir.Reservation) error {
			return errors.Join(r.Settle(ctx, 3), r.Settle(ctx, 4))
		}, []int64{3}, nil},
		{"the estimate, then another", t.Context(), func(ctx context.Context, r *weir.Reservation) error {
			return errors.Join(r.Settle(ctx, 10), r.Settle(ctx, 4))
		}, nil, nil},
		{"then cancelled", t.Context(), func(ctx context.Context, r *weir.Reservation) error {
			return errors.Join(r.Settle(ctx, 3), r.Cancel(ctx))
		}, []int64{3}, nil},
		{"cancelled before", t.Context(), func(ctx context.Context, r *weir.Reservation) error {
			return errors.Join(r.Cancel(ctx), r.Settle(ctx, 3))
		}, nil, nil},
		{"below 0", t.Context(), func(ctx context.Context, r *weir.Reservation) error { return r.Settle(ctx, -1) }, nil, weir.ErrConfig},
		{"above the most", t.Context(), func(ctx context.Context, r *weir.Reservation) error { return r.Settle(ctx, store.MaxUnits+1) }, nil, weir.ErrConfig},
		{"below 0, then right", t.Context(), func(ctx context.Context, r *weir.Reservation) error {
			if err := r.Settle(ctx, -1); err == nil {
				return errors.New("-1 was taken")
			}
			return r.Settle(ctx, 2)
		}, []int64{2}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := new(settlerStore)
			l := newLimiter(t, s, func(c *weir.Config) { c.Limits = []weir.Limit{weir.PerSecond(1000)} })
			if err := tt.do(tt.ctx, reserveN(t, l, 10)); !errors.Is(err, tt.is) {
				t.Errorf("got %v, want %v", err, tt.is)
			}
			if !slices.Equal(s.costs, tt.want) || len(s.misused) > 0 {
				t.Errorf("settled at %v, want %v; %v", s.costs, tt.want, s.misused)
			}
		})
	}
}

func TestReservationSettleFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	for _, tt := range []struct {
		name  string
		store weir.Store
		ctx   context.Context
		took  time.Duration
		is    error
	}{
		{"store can't", new(gcraStore), t.Context(), 0, weir.ErrUnsupported},
		{"store fails", &settlerStore{fail: func(context.Context) error { return broken }}, t.Context(), 0, broken},
		{"store hangs after the context", &settlerStore{fail: hang}, over, 5 * time.Second, weir.ErrStore},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := reserveN(t, newLimiter(t, tt.store), 1)
				start := time.Now()
				err := r.Settle(tt.ctx, 0)
				if !errors.Is(err, tt.is) || errors.Is(err, context.DeadlineExceeded) || time.Since(start) != tt.took {
					t.Errorf("got %v after %v, want %v after %v", err, time.Since(start), tt.is, tt.took)
				}
				if err := r.Settle(t.Context(), 0); err != nil {
					t.Errorf("the second time: %v, want nil", err)
				}
			})
		})
	}
}

func TestReservationSettleNothing(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, struct {
		weir.Store
		store.Settler
	}{freeStore{}, nil})
	if err := reserveN(t, l, 1).Settle(t.Context(), 7); err != nil {
		t.Error(err)
	}
}

// TestSettleGivesBackAndOwes settles less and more than the estimate, on a real store.
func TestSettleGivesBackAndOwes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		actual, remaining int64
		retryAfter        time.Duration // of 1000 at once
	}{
		{300, 700, 300 * ms}, {1000, 0, 1000 * ms}, {1500, 0, 1500 * ms}, {0, 1000, 0},
	} {
		t.Run(fmt.Sprint(tt.actual), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, err := localstore.New(localstore.Config{})
				if err != nil {
					t.Fatal(err)
				}
				l := newLimiter(t, store, func(c *weir.Config) { c.Limits = []weir.Limit{weir.PerSecond(1000)} })
				if err := reserveN(t, l, 1000).Settle(t.Context(), tt.actual); err != nil {
					t.Fatal(err)
				}
				if d, err := l.Peek(t.Context(), "k"); err != nil || d.Remaining != tt.remaining {
					t.Errorf("%+v, %v, want %d remaining", d, err, tt.remaining)
				}
				if d, err := l.AllowN(t.Context(), "k", 1000); err != nil || d.RetryAfter != tt.retryAfter {
					t.Errorf("%+v, %v, want to retry after %v", d, err, tt.retryAfter)
				}
			})
		})
	}
}

func TestDoN(t *testing.T) {
	t.Parallel()
	failed, broken := errors.New("failed"), errors.New("broken")
	for _, tt := range []struct {
		name     string
		estimate int64
		actual   int64
		err      error
		settle   error
		want     []int64 // the costs that the store settles
		is       []error
	}{
		{"less", 10, 3, nil, nil, []int64{3}, nil},
		{"more", 10, 30, nil, nil, []int64{30}, nil},
		{"failed half way", 10, 5, failed, nil, []int64{5}, []error{failed}},
		{"failed at once", 10, 0, failed, nil, []int64{0}, []error{failed}},
		{"as estimated", 10, 10, nil, nil, nil, nil},
		{"store fails to settle", 10, 3, nil, broken, nil, nil},
		{"below 0", 10, -1, failed, nil, nil, []error{weir.ErrConfig, failed}},
		{"an estimate of nothing", 0, 1, nil, nil, nil, []error{weir.ErrConfig}},
		{"an estimate that never fits", 2000, 1, nil, nil, nil, []error{weir.ErrLimited}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &settlerStore{fail: func(context.Context) error { return tt.settle }}
			var failed bool
			l := newLimiter(t, s, func(c *weir.Config) {
				c.Limits = []weir.Limit{weir.PerSecond(1000)}
				c.Hook = func(_ context.Context, e weir.Event) { failed = failed || e.Op == "settle" && e.Err != nil }
			})
			err := l.DoN(t.Context(), "k", tt.estimate, func(context.Context) (int64, error) { return tt.actual, tt.err })
			if (err == nil) != (tt.is == nil) {
				t.Errorf("got %v, want %v", err, tt.is)
			}
			for _, is := range tt.is {
				if !errors.Is(err, is) {
					t.Errorf("got %v, want %v", err, is)
				}
			}
			if !slices.Equal(s.costs, tt.want) || len(s.misused) > 0 {
				t.Errorf("settled at %v, want %v; %v", s.costs, tt.want, s.misused)
			}
			if failed != (tt.settle != nil) {
				t.Errorf("the hook got a failure: %v", failed)
			}
		})
	}
}

func TestDoNThatPanicsStaysBooked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(settlerStore)
		l := newLimiter(t, s)
		defer func() {
			if r := recover(); r != "oops" {
				t.Errorf("recovered %v", r)
			}
			s.check(t, l, 1, 1)
		}()
		_ = l.DoN(t.Context(), "k", 1, func(context.Context) (int64, error) { panic("oops") })
	})
}

func TestDoNNeedsAStoreThatSettles(t *testing.T) {
	t.Parallel()
	s := new(gcraStore)
	l := newLimiter(t, s)
	err := l.DoN(t.Context(), "k", 1, func(context.Context) (int64, error) {
		t.Error("f was run")
		return 0, nil
	})
	if !errors.Is(err, weir.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// TestDoNSettlesItsOwnSlot: waiting calls may swap slots. Each call settles once, the
// slot in which it left.
func TestDoNSettlesItsOwnSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(settlerStore)
		s.after = func(call int) time.Duration { return time.Duration(call*7%40) * ms }
		l := newLimiter(t, s)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				ctx := t.Context()
				if i%5 == 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithCancel(ctx)
					time.AfterFunc(time.Duration(i+1)*5*ms, cancel)
				}
				err := l.DoN(ctx, "k", 1, func(context.Context) (int64, error) { return 2, nil })
				if err != nil && i%5 > 0 {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s.check(t, l, 50, 0)
		if n := len(s.costs); n < 40 || s.cancels < 5 || n+s.cancels != 50 {
			t.Errorf("%d settled and %d cancelled of 50", n, s.cancels)
		}
	})
}

func TestReserveAtMost(t *testing.T) {
	t.Parallel()
	window := weir.Per(100, time.Minute).By(weir.SlidingWindow)
	for name, test := range map[string]struct {
		limits         []weir.Limit
		used, min, max int64
		want           int64 // 0: refused
	}{
		"all":                      {buckets(weir.PerHour(100)), 0, 1, 50, 50},
		"the rest of a bucket":     {buckets(weir.PerHour(100)), 70, 1, 50, 30},
		"the rest of a window":     {[]weir.Limit{window}, 70, 1, 50, 30},
		"of the tightest limit":    {[]weir.Limit{window, weir.Per(80, time.Hour).By(weir.SlidingWindow)}, 70, 1, 50, 10},
		"exactly the minimum":      {[]weir.Limit{window}, 70, 30, 50, 30},
		"less than the minimum":    {[]weir.Limit{window}, 70, 31, 50, 0},
		"nothing left":             {[]weir.Limit{window}, 100, 1, 50, 0},
		"a maximum over the limit": {[]weir.Limit{window}, 0, 1, 500, 100},
		"a minimum over the limit": {[]weir.Limit{window}, 0, 101, 500, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: test.limits})
				if test.used > 0 {
					if d, err := l.AllowN(t.Context(), "key", test.used); err != nil || !d.Allowed {
						t.Fatal(d, err)
					}
				}
				r, d, err := l.ReserveAtMost(t.Context(), "key", test.min, test.max)
				if err != nil || d.Allowed != (test.want > 0) || d.Allowed && r.Cost() != test.want || !d.Allowed && (r != nil || d.RetryAfter <= 0) {
					t.Errorf("%+v, %v, %v; want %d", r, d, err, test.want)
				}
			})
		})
	}
	for name, test := range map[string]struct {
		limits []weir.Limit
		used   int64
		want   int64 // 0: refused
	}{
		"nothing used":                  {buckets(weir.PerHour(100)), 0, 100},
		"the rest without the reserve":  {buckets(weir.PerHour(100)), 50, 30},
		"the rest of several limits":    {[]weir.Limit{weir.PerHour(100), weir.PerDay(200)}, 50, 30},
		"no more than the reserve left": {buckets(weir.PerHour(100)), 80, 0},
	} {
		t.Run("in the background, "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: test.limits, Reserve: 20})
				if test.used > 0 {
					if d, err := l.AllowN(t.Context(), "key", test.used); err != nil || !d.Allowed {
						t.Fatal(d, err)
					}
				}
				r, d, err := l.ReserveAtMost(weir.InBackground(t.Context()), "key", 1, 500)
				if err != nil || d.Allowed != (test.want > 0) || d.Allowed && r.Cost() != test.want {
					t.Errorf("%+v, %v, %v; want %d", r, d, err, test.want)
				}
			})
		})
	}
	l := onLocal(t, weir.Config{Limits: buckets(weir.PerHour(100))})
	for _, bounds := range [][2]int64{{0, 5}, {-1, 5}, {6, 5}} {
		if _, _, err := l.ReserveAtMost(t.Context(), "key", bounds[0], bounds[1]); !errors.Is(err, weir.ErrConfig) {
			t.Errorf("%v: %v", bounds, err)
		}
	}
}

// TestReserveAtMostTogether: concurrent calls share all units, and none is taken twice.
func TestReserveAtMostTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.Per(10_000, time.Minute).By(weir.SlidingWindow)}})
		var granted atomic.Int64
		var wg sync.WaitGroup
		for i := range int64(400) {
			wg.Go(func() {
				if r, d, err := l.ReserveAtMost(t.Context(), "key", 1, 20+i); err != nil {
					t.Error(err)
				} else if d.Allowed {
					granted.Add(r.Cost())
				}
			})
		}
		wg.Wait()
		if granted.Load() != 10_000 {
			t.Errorf("%d units granted, want 10000", granted.Load())
		}
	})
}
