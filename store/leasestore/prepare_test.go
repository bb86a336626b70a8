package leasestore_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/leasestore"
)

// around wraps a store and has no shorter way.
type around struct{ *leasestore.Store }

func (around) Prepare(store.Store, string, store.Limit) store.Prepared { return nil }

// beside is the same store as another value. So limiters of one name may have different
// limits there, as in another process.
type beside struct {
	*leasestore.Store
	around bool
}

func (s beside) Prepare(_ store.Store, scope string, l store.Limit) store.Prepared {
	if s.around {
		return nil
	}
	return s.Store.Prepare(s.Store, scope, l)
}

// late is a store behind that takes units back after all Takes made meanwhile. Otherwise
// the order is open, and different numbers of units are left.
type late struct{ *behind }

func (l late) Settle(ctx context.Context, receipt any, costs ...int64) error {
	time.Sleep(time.Microsecond)
	return l.behind.Settle(ctx, receipt, costs...)
}

func limiter(t testing.TB, s store.Store, limits ...weir.Limit) *weir.Limiter {
	t.Helper()
	l, err := weir.New(weir.Config{Store: s, Limits: limits, Name: "api"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The shorter way and the Store come to the same decisions.
func TestTheShorterWayDecidesTheSame(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var stores [2]*leasestore.Store
				var limiters, others [2]*weir.Limiter
				for i := range stores {
					stores[i] = open(t, leasestore.Config{Store: late{newBehind(t)}})
					defer done(t, stores[i])
					s := store.Store(stores[i])
					if i == 1 {
						s = around{stores[i]}
					}
					limiters[i] = limiter(t, s, weir.PerMinute(20_000).By(a))
					others[i] = limiter(t, beside{stores[i], i == 1}, weir.PerMinute(30_000).By(a))
				}
				random := rand.New(rand.NewPCG(1, 2))
				for n := range 30_000 {
					of, cost, what := &limiters, int64(1), random.IntN(10_000)
					switch {
					case what < 100:
						time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
						synctest.Wait() // lets due units lapse
					case what < 200:
						cost = random.Int64N(5)
					case what < 210:
						of = &others
					}
					var got [2]weir.Decision
					var errs [2]error
					var both sync.WaitGroup
					for i, l := range of {
						both.Go(func() {
							switch what {
							case 300, 301:
								errs[i] = l.Pause(t.Context(), "k", 10*time.Millisecond)
							case 302:
								errs[i] = l.Reset(t.Context(), "k")
							case 303:
								errs[i] = stores[i].Brake(t.Context(), charge("k", 0, store.Limit(l.Config().Limits[0])).Charges, store.Brake{
									Tell: true, Gap: time.Millisecond, GapFor: time.Second,
								})
							}
							if errs[i] == nil {
								got[i], errs[i] = l.AllowN(t.Context(), "k", cost)
							}
						})
					}
					both.Wait()
					if what < 400 {
						time.Sleep(10 * time.Microsecond) // until all is given back
					}
					synctest.Wait()
					if errs[0] != nil || errs[1] != nil || !reflect.DeepEqual(got[0], got[1]) {
						t.Fatalf("call %d:\n%+v, %v, want\n%+v, %v", n, got[0], errs[0], got[1], errs[1])
					}
				}
			})
		})
	}
}

// The shorter way and the Store together admit exactly the limit.
func TestTheShorterWayIsExact(t *testing.T) {
	t.Parallel()
	s := open(t, leasestore.Config{Store: newBehind(t), For: 10 * time.Second})
	defer done(t, s)
	limit := store.Per(20_000, 24*time.Hour).By(store.FixedWindow)
	l := limiter(t, s, weir.Limit(limit))
	var all sync.WaitGroup
	var admitted atomic.Int64
	for i := range 16 {
		all.Go(func() {
			for range 2000 {
				decide := func() (bool, error) {
					d, err := l.Allow(context.Background(), "k")
					return d.Allowed, err
				}
				if i%4 == 0 {
					decide = func() (bool, error) {
						d, err := s.Take(context.Background(), charge("k", 1, limit))
						return d.Allowed, err
					}
				}
				allowed, err := decide()
				if err != nil {
					t.Error(err)
				}
				if allowed {
					admitted.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := admitted.Load(); n != 20_000 {
		t.Errorf("%d admitted of 20000", n)
	}
}

func TestTheShorterWayIsOnlyThatOfItsOwnStore(t *testing.T) {
	t.Parallel()
	s := open(t, leasestore.Config{Store: newBehind(t)})
	defer done(t, s)
	for name, c := range map[string]struct {
		of    store.Store
		limit store.Limit
		want  bool
	}{
		"its own":                {s, store.Per(1000, time.Hour), true},
		"of a store around it":   {around{s}, store.Per(1000, time.Hour), false},
		"under a sliding window": {s, store.Per(1000, time.Hour).By(store.SlidingWindow), false},
	} {
		if got := s.Prepare(c.of, "api", c.limit) != nil; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
