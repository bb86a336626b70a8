package fallback_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// cycle takes the primary away and back, with calls in between.
func cycle(t *testing.T, p *primary, s *fallback.Store, while func()) {
	p.set(errAway, 0)
	for range 3 {
		take(t, s, charge("another", 1, store.Per(1000, time.Second)))
	}
	while()
	p.set(nil, 0)
	time.Sleep(time.Second + time.Millisecond)
	take(t, s, charge("another", 1, store.Per(1000, time.Second)))
	synctest.Wait()
	if s.State() != fallback.StateClosed {
		t.Fatalf("the breaker is %v", s.State())
	}
}

// Many calls of one key come right after the primary's return. None is admitted on a
// state that lacks uncharged units.
func TestCallsWaitForTheSettlement(t *testing.T) {
	t.Parallel()
	for _, memory := range []bool{true, false} {
		t.Run(fmt.Sprint("memory ", memory), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: p})
				l := store.Per(50, time.Hour)
				var admitted atomic.Int64
				call := func() {
					if take(t, s, charge("k", 1, l)).Allowed {
						admitted.Add(1)
					}
				}
				for range 10 {
					call()
				}
				cycle(t, p, s, func() {
					for range 20 {
						call()
					}
					if !memory {
						p.forget(t)
					}
				})
				p.set(nil, 5*time.Millisecond)
				var wg sync.WaitGroup
				for range 200 {
					wg.Go(call)
				}
				wg.Wait()
				if n := admitted.Load(); n != 50 {
					t.Errorf("%d admitted of 50", n)
				}
				if s.State() != fallback.StateClosed {
					t.Errorf("the breaker is %v", s.State())
				}
			})
		})
	}
}

// slowCharges is a primary that commits bookings ahead, as settlements are, but answers
// too late.
type slowCharges struct {
	*primary
	slow atomic.Bool
}

func (p *slowCharges) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	d, err := p.primary.Take(ctx, req)
	if p.slow.Load() && req.MaxWait > 0 {
		time.Sleep(80 * time.Millisecond)
	}
	return d, err
}

// A settlement without an answer in time is not repeated. The units are charged once,
// however often the answer is late.
func TestSettlementIsNotReplayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &slowCharges{primary: newPrimary(t)}
		s := open(t, fallback.Config{Primary: p})
		l := store.Per(100, time.Hour)
		p.set(errAway, 0)
		for range 20 {
			take(t, s, charge("k", 1, l))
		}
		p.set(nil, 0)
		p.slow.Store(true)
		for range 10 {
			take(t, s, charge("k", 1, l))
			time.Sleep(200 * time.Millisecond)
		}
		p.slow.Store(false)
		take(t, s, charge("k", 1, l))
		if left := take(t, p.store, charge("k", 0, l)).Remaining; left < 100-31 || left > 100-30 {
			t.Errorf("%d remaining, want 69: 31 calls were admitted", left)
		}
	})
}

// A primary that is no Restorer is charged for the spent units, as far as they fit.
func TestPlainPrimary(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Hour) {
		t.Run(l.Algorithm.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: storeFunc(func(req store.Request) (store.Decision, error) {
					return p.Take(context.Background(), req)
				})})
				time.Sleep(10 * time.Minute)
				for range 50 {
					take(t, s, charge("k", 1, l))
				}
				for used := int64(50); used < 150; used += 20 {
					p.set(errAway, 0)
					for range 19 {
						take(t, s, charge("k", 1, l))
					}
					p.set(nil, 0)
					time.Sleep(3 * time.Second)
					take(t, s, charge("k", 1, l))
					if left := take(t, p.store, charge("k", 0, l)).Remaining; left < max(80-used, 0) || left > max(81-used, 0) {
						t.Errorf("%d remaining, want %d", left, max(80-used, 0))
					}
				}
			})
		})
	}
}

// TestFadedIsNotLost lets units of a sliding counter fade after the primary's last
// answer. A primary that kept its memory is not charged for them, however late the next
// call for the key comes. A primary that lost its memory is.
func TestFadedIsNotLost(t *testing.T) {
	t.Parallel()
	const p = 10 * time.Second
	for name, test := range map[string]struct {
		at, again, back time.Duration // when 100 units are taken, then one, and the next call
		forgets         bool
		others          int64 // units that others take after that
		want            int64
	}{
		"late in the window after":         {at: p - time.Second, again: p + 200*time.Millisecond, back: 2*p - 800*time.Millisecond, want: 91},
		"early in it":                      {at: p - time.Second, again: p + 200*time.Millisecond, back: p + 500*time.Millisecond, want: 4},
		"in the next":                      {at: p - time.Second, again: p + 200*time.Millisecond, back: 2*p + 500*time.Millisecond, want: 99},
		"as late, lost":                    {at: p - time.Second, again: p + 200*time.Millisecond, back: 2*p - 800*time.Millisecond, forgets: true, want: 91},
		"lost, and others have come":       {at: 0, again: 0, back: 100 * time.Millisecond, forgets: true, others: 1, want: 0},
		"lost long ago, and others came":   {at: 0, again: 0, back: p / 2, forgets: true, others: 1, want: 0},
		"all in the window before":         {at: 0, again: 0, back: p + 5*time.Second, want: 50},
		"all in the window before, lost":   {at: 0, again: 0, back: p + 5*time.Second, forgets: true, want: 50},
		"all in this window, lost":         {at: 0, again: 0, back: p / 2, forgets: true, want: 0},
		"all in this window, nothing lost": {at: 0, again: 0, back: p / 2, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				primary := newPrimary(t)
				s := open(t, fallback.Config{Primary: primary})
				l := store.Per(100, p).By(store.SlidingCounter)
				start := time.Now().Truncate(p).Add(p)
				time.Sleep(time.Until(start.Add(test.at)))
				take(t, s, charge("k", 100, l))
				time.Sleep(time.Until(start.Add(test.again)))
				take(t, s, charge("k", 1, l))
				primary.set(errAway, 0)
				take(t, s, charge("another", 1, l))
				primary.set(nil, 0)
				if test.forgets {
					primary.forget(t)
				}
				time.Sleep(time.Millisecond) // A birth is later than the last answer.
				others := charge("k", test.others, l)
				others.Seen = make([]store.Seen, 1)
				take(t, primary, others)
				time.Sleep(time.Until(start.Add(test.back)))
				if d := take(t, s, charge("k", 0, l)); d.Remaining != test.want {
					t.Errorf("%d remaining, want %d", d.Remaining, test.want)
				}
				time.Sleep(time.Second) // The last restores end by themselves.
			})
		})
	}
}
