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
	"github.com/goweir/weir/store/leasestore"
)

// around is a store around another that has no shorter way.
type around struct{ *leasestore.Store }

func (around) Prepare(weir.Store, string, weir.Limit) weir.Prepared { return nil }

// late is a store behind in which what is given back comes after what is taken
// meanwhile: by itself either may be first, and other units be left.
type late struct{ *behind }

func (l late) Settle(ctx context.Context, receipt any, costs ...int64) error {
	time.Sleep(time.Microsecond)
	return l.behind.Settle(ctx, receipt, costs...)
}

func limiter(t testing.TB, s weir.Store, limits ...weir.Limit) *weir.Limiter {
	t.Helper()
	l, err := weir.New(weir.Config{Store: s, Limits: limits, Name: "api"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The shorter way comes to the same decisions as the Store, whatever happens.
func TestTheShorterWayDecidesTheSame(t *testing.T) {
	t.Parallel()
	for a := weir.GCRA; a <= weir.AlignedWindow; a++ {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var stores [2]*leasestore.Store
				var limiters, others [2]*weir.Limiter
				for i := range stores {
					stores[i] = open(t, leasestore.Config{Store: late{newBehind(t)}})
					defer done(t, stores[i])
					s := weir.Store(stores[i])
					if i == 1 {
						s = around{stores[i]}
					}
					limiters[i] = limiter(t, s, weir.Per(20_000, time.Minute).By(a))
					others[i] = limiter(t, s, weir.Per(30_000, time.Minute).By(a))
				}
				random := rand.New(rand.NewPCG(1, 2))
				for n := range 30_000 {
					of, cost, what := &limiters, int64(1), random.IntN(10_000)
					switch {
					case what < 100:
						time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
						synctest.Wait() // what lapses just now has
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
								errs[i] = stores[i].Brake(t.Context(), charge("k", 0, l.Limits()...).Charges, weir.Brake{
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

// The shorter way and the Store together admit what the limit has.
func TestTheShorterWayIsExact(t *testing.T) {
	t.Parallel()
	s := open(t, leasestore.Config{Store: newBehind(t), For: 10 * time.Second})
	defer done(t, s)
	limit := weir.PerDay(20_000).By(weir.FixedWindow)
	l := limiter(t, s, limit)
	var all sync.WaitGroup
	var admitted atomic.Int64
	for i := range 16 {
		all.Go(func() {
			for range 2000 {
				decide := func() (weir.Decision, error) { return l.Allow(context.Background(), "k") }
				if i%4 == 0 {
					decide = func() (weir.Decision, error) { return s.Take(context.Background(), charge("k", 1, limit)) }
				}
				d, err := decide()
				if err != nil {
					t.Error(err)
				}
				if d.Allowed {
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
		of    weir.Store
		limit weir.Limit
		want  bool
	}{
		"its own":                {s, weir.PerHour(1000), true},
		"of a store around it":   {around{s}, weir.PerHour(1000), false},
		"under a sliding window": {s, weir.PerHour(1000).By(weir.SlidingWindow), false},
	} {
		if got := s.Prepare(c.of, "api", c.limit) != nil; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
