package fallback_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// A process of a fleet keeps to its share of a limit whatever its calls cost, up to the
// whole limit. It also uses the share.
func TestShareOfMixedCosts(t *testing.T) {
	t.Parallel()
	const rate, replicas = 1000, 20
	periods := long.Or(200, 40)
	mixes := map[string]func(*rand.Rand) int64{
		"1":                   func(*rand.Rand) int64 { return 1 },
		"a bit over":          func(*rand.Rand) int64 { return rate/replicas + 1 },
		"the whole":           func(*rand.Rand) int64 { return rate },
		"small":               func(r *rand.Rand) int64 { return 1 + r.Int64N(rate/replicas) },
		"huge":                func(r *rand.Rand) int64 { return 1 + r.Int64N(rate) },
		"small, at times all": func(r *rand.Rand) int64 { return 1 + (rate-1)*(r.Int64N(1000)/999) },
		"rising": func() func(*rand.Rand) int64 {
			c := int64(0)
			return func(*rand.Rand) int64 { c = c%rate + 1; return c }
		}(),
	}
	for _, l := range every(rate, time.Second) {
		for name, mix := range mixes {
			t.Run(fmt.Sprint(l.Algorithm, " ", name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					p.set(errAway, 0)
					s := open(t, fallback.Config{Primary: p, Replicas: replicas, Probe: time.Hour})
					random := rand.New(rand.NewPCG(1, 2))
					admitted, start := int64(0), time.Now()
					for time.Since(start) < time.Duration(periods)*time.Second {
						cost := mix(random)
						if d := take(t, s, charge("c", cost, l)); d.Allowed {
							admitted += cost
						} else if d.RetryAfter == store.Never {
							t.Fatalf("%d of %d never fit", cost, rate)
						}
						time.Sleep(10 * time.Millisecond)
					}
					share := int64(periods * rate / replicas)
					floor := share * 8 / 10
					if l.Algorithm == store.SlidingCounter {
						floor = share * 4 / 10 // Units used at once are free again in every second window.
					}
					if most := share + rate/replicas + rate; admitted > most || admitted < floor {
						t.Errorf("%d admitted in %d periods, want %d to %d", admitted, periods, floor, most)
					}
				})
			})
		}
	}
}

// A refused call that costs more than the share holds is allowed after its RetryAfter.
func TestOverTheShareAfterRetryAfter(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Second) {
		t.Run(fmt.Sprint(l.Algorithm), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := away(t, fallback.Config{Replicas: 10})
				random := rand.New(rand.NewPCG(1, 2))
				for i := range 100 {
					cost := 1 + random.Int64N(100)
					if d := take(t, s, charge("c", cost, l)); !d.Allowed {
						time.Sleep(d.RetryAfter)
						if again := take(t, s, charge("c", cost, l)); !again.Allowed {
							t.Fatalf("call %d of cost %d: refused for %s, and then for %s", i, cost, d.RetryAfter, again.RetryAfter)
						}
					}
					if d := take(t, s, charge("c", 0, l)); d.ResetAfter > 25*time.Second {
						t.Fatalf("call %d of cost %d: as new after %s", i, cost, d.ResetAfter)
					}
				}
			})
		})
	}
}

// Calls that wait for more than the share holds use it up, window by window.
func TestWaitersOverTheShareUseIt(t *testing.T) {
	t.Parallel()
	for _, l := range []store.Limit{
		store.Per(100, time.Second), store.Per(100, time.Second).By(store.FixedWindow), store.Per(100, time.Second).By(store.AlignedWindow),
	} {
		t.Run(fmt.Sprint(l.Algorithm), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := away(t, fallback.Config{Replicas: 10})
				random := rand.New(rand.NewPCG(1, 2))
				units, last := int64(0), time.Duration(0)
				for range 200 {
					cost := 1 + random.Int64N(30)
					req := charge("c", cost, l)
					req.Cancelable, req.MaxWait = true, time.Hour
					units, last = units+cost, take(t, s, req).Delay
				}
				takes := time.Duration(units) * time.Second / 10
				if last < takes-3*time.Second || last > takes+takes/10 {
					t.Errorf("%d units: the last slot is %v ahead, want about %v", units, last, takes)
				}
			})
		})
	}
}

// Units booked over the share are given back and corrected with the rest.
func TestOverTheShareIsCorrected(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Second) {
		for _, cost := range []int64{1, 55, 95} {
			for _, actual := range []int64{0, 4, 10, 57, 100} {
				t.Run(fmt.Sprint(l.Algorithm, " ", actual, " not ", cost), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s, want := away(t, fallback.Config{Replicas: 10}), away(t, fallback.Config{Replicas: 10})
						before := take(t, s, charge("c", 3, l))
						take(t, want, charge("c", 3, l))
						req := charge("c", cost, l)
						req.Cancelable, req.MaxWait = true, time.Minute
						d := take(t, s, req)
						after := take(t, s, charge("c", 0, l))
						if d.Remaining != after.Remaining || d.ResetAfter != after.ResetAfter {
							t.Errorf("the decision has %d and %s, then %d and %s", d.Remaining, d.ResetAfter, after.Remaining, after.ResetAfter)
						}
						if actual == 0 {
							if err := s.Cancel(context.Background(), d.Receipt); err != nil {
								t.Fatal(err)
							}
						} else if err := s.Settle(context.Background(), d.Receipt, actual); err != nil {
							t.Fatal(err)
						}
						got := take(t, s, charge("c", 0, l))
						if actual == 0 && (got.Remaining != before.Remaining || got.ResetAfter != before.ResetAfter) {
							t.Errorf("after the cancel %d and %s are left, want %d and %s", got.Remaining, got.ResetAfter, before.Remaining, before.ResetAfter)
						}
						if actual > 0 && l.Algorithm == store.GCRA {
							req := charge("c", actual, l)
							req.MaxWait = time.Minute
							if d := take(t, want, req); got.ResetAfter != d.ResetAfter {
								t.Errorf("after the settlement as new after %s, want %s", got.ResetAfter, d.ResetAfter)
							}
						}
					})
				})
			}
		}
	}
}

// One of two levels costs more than its share. Units booked ahead for its key do not hold
// up the other key.
func TestOverTheShareOfOneLevel(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Second) {
		t.Run(fmt.Sprint(l.Algorithm), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := away(t, fallback.Config{Replicas: 10})
				wide := store.Charge{Scope: "all", Key: "all", Limit: store.Per(1000, time.Second).By(l.Algorithm), Cost: 40}
				narrow := store.Charge{Scope: "user", Key: "u", Limit: l, Cost: 40}
				d := take(t, s, store.Request{Charges: []store.Charge{narrow, wide}})
				if !d.Allowed || d.Limit != l || d.Charge(1).Remaining != 60 || d.Charge(1).ResetAfter > 2*time.Second {
					t.Errorf("granted %+v", d)
				}
				if d := take(t, s, store.Request{Charges: []store.Charge{wide}}); !d.Allowed {
					t.Errorf("others are refused for %s", d.RetryAfter)
				}
				if d := take(t, s, store.Request{Charges: []store.Charge{narrow}}); d.Allowed || d.RetryAfter < time.Second {
					t.Errorf("allowed %v, retry after %s", d.Allowed, d.RetryAfter)
				}
			})
		})
	}
}

// A call costs more than the share holds. On its return the primary is charged the full
// cost, less the units that have been made up for.
func TestOverTheShareIsOwed(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Minute) {
		t.Run(fmt.Sprint(l.Algorithm), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: p, Replicas: 10})
				take(t, s, charge("k", 0, l))
				cycle(t, p, s, func() { take(t, s, charge("k", 60, l)) })
				d := take(t, s, charge("k", 0, l))
				if d.Remaining < 40 || d.Remaining > 55 {
					t.Errorf("%d of 100 are left after a call of 60, want about 40", d.Remaining)
				}
			})
		})
	}
}
