package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

func cancelable(key string, cost int64, limits ...store.Limit) store.Request {
	req := charge(key, cost, limits...)
	req.Cancelable = true
	return req
}

func settle(t *testing.T, s *fallback.Store, d store.Decision, costs ...int64) {
	t.Helper()
	if err := s.Settle(context.Background(), d.Receipt, costs...); err != nil {
		t.Fatal(err)
	}
}

func remaining(t *testing.T, s store.Store, limits ...store.Limit) (list []int64) {
	t.Helper()
	d := take(t, s, charge("k", 0, limits...))
	for i := range limits {
		list = append(list, d.Charge(i).Remaining)
	}
	return list
}

// The local store settles its own grants. The primary is charged the real cost, if it is
// known in time.
func TestLocalGrantsAreSettled(t *testing.T) {
	t.Parallel()
	limits := []store.Limit{store.Per(100, time.Hour), store.Per(100, time.Hour).By(store.SlidingWindow)}
	for _, tt := range []struct {
		name  string
		costs []int64
		want  string // remaining while the primary is away, and after its return
	}{
		{"less", []int64{3}, "[97 97]"},
		{"nothing", []int64{0}, "[100 100]"},
		{"more", []int64{25}, "[75 75]"},
		{"one of each", []int64{3, 25}, "[97 75]"},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " late ", late), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					s := open(t, fallback.Config{Primary: p})
					var d store.Decision
					cycle(t, p, s, func() {
						d = take(t, s, cancelable("k", 10, limits...))
						if !late {
							settle(t, s, d, tt.costs...)
							if got := fmt.Sprint(remaining(t, s, limits...)); got != tt.want {
								t.Errorf("while the primary is away %s remain, want %s", got, tt.want)
							}
						}
					})
					want := tt.want
					if late {
						want = "[90 90]" // The primary was charged the estimate.
						if got := fmt.Sprint(remaining(t, s, limits...)); got != "[90 90]" {
							t.Errorf("with the estimate charged %s remain", got)
						}
						settle(t, s, d, tt.costs...)
					}
					if got := fmt.Sprint(remaining(t, s, limits...)); got != want {
						t.Errorf("with the primary back %s remain, want %s", got, want)
					}
				})
			})
		}
	}
}

// The primary settles its own grants while it is there.
func TestPrimaryGrantsAreSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		l := store.Per(100, time.Hour)
		there, away := take(t, s, cancelable("k", 10, l)), take(t, s, cancelable("k", 10, l))
		settle(t, s, there, 4)
		if got := remaining(t, s, l); got[0] != 86 {
			t.Errorf("%d remain of 100, want 86", got[0])
		}
		cycle(t, p, s, func() {
			calls := p.calls.Load()
			settle(t, s, away, 40)
			if n := p.calls.Load() - calls; n != 0 {
				t.Errorf("%d calls of a primary that is away", n)
			}
		})
		if got := remaining(t, s, l); got[0] != 86 {
			t.Errorf("%d remain of 100, want 86 still", got[0])
		}
	})
}

func TestSettleMistakes(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	s := open(t, fallback.Config{Primary: p})
	ctx := context.Background()
	if err := s.Settle(ctx, 7, 1); err == nil {
		t.Error("a number passes as a receipt")
	}
	d := take(t, s, cancelable("k", 1, store.Per(10, time.Hour)))
	for _, costs := range [][]int64{nil, {-1}, {1, 2}} {
		if err := s.Settle(ctx, d.Receipt, costs...); !errors.Is(err, store.ErrConfig) {
			t.Errorf("costs %v: %v", costs, err)
		}
	}
	without := open(t, fallback.Config{Primary: struct {
		store.Store
		store.Canceler
	}{p, p}})
	d = take(t, without, cancelable("k", 1, store.Per(10, time.Hour)))
	if err := without.Settle(ctx, d.Receipt, 0); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("a primary that can't settle: %v", err)
	}
	p.set(errAway, 0)
	if err := s.Settle(ctx, d.Receipt, 0); !errors.Is(err, errAway) {
		t.Errorf("a primary that fails: %v", err)
	}
}

// A silent primary holds a caller up for the budget at most.
func TestSettleWithinTheBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		d := take(t, s, cancelable("k", 1, store.Per(10, time.Hour)))
		p.set(nil, time.Minute)
		costs := []int64{0}
		start := time.Now()
		if err := s.Settle(context.Background(), d.Receipt, costs...); err == nil {
			t.Error("no error")
		}
		if took := time.Since(start); took > 50*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		costs[0] = 1 // The caller may change its slice again.
		time.Sleep(2 * time.Minute)
		p.set(nil, 0)
		if got := remaining(t, s, store.Per(10, time.Hour)); got[0] != 10 {
			t.Errorf("%d remain, want 10: the settlement was late", got[0])
		}
	})
}
