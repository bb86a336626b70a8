package fallback_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/localstore"
)

// shaky is a primary store that fails while down is set.
type shaky struct {
	*localstore.Store
	down atomic.Bool
}

var errShaky = errors.New("down")

func (s *shaky) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if s.down.Load() {
		return store.Decision{}, errShaky
	}
	return s.Store.Take(ctx, req)
}

func (s *shaky) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	if s.down.Load() {
		return errShaky
	}
	return s.Store.Brake(ctx, charges, b)
}

// A pause holds for either store: set before an outage, in it, or after it.
func TestPausesAndOutages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		primary := &shaky{Store: local}
		s, err := fallback.New(fallback.Config{Primary: primary, Probe: time.Second, Replicas: 2})
		if err != nil {
			t.Fatal(err)
		}
		l, err := weir.New(weir.Config{Name: "api", Store: s, Limits: []weir.Limit{weir.PerSecond(10)}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		pause := func(key string, d time.Duration) {
			t.Helper()
			if err := l.Pause(ctx, key, d); err != nil {
				t.Fatal(err)
			}
		}
		paused := func(key string, want, degraded bool) {
			t.Helper()
			d, err := l.Allow(ctx, key)
			if err != nil || d.Allowed == want || want != (d.Reason == store.ReasonPaused) || d.Degraded != degraded {
				t.Errorf("%s: %+v, %v; want paused %v, degraded %v", key, d, err, want, degraded)
			}
		}
		pause("before", 10*time.Second)
		paused("before", true, false)
		paused("never", false, false)
		// Another process sets a pause, and this one learns of it.
		if err := primary.Store.Brake(ctx, []store.Charge{{Scope: "api", Key: "others", Limit: store.Per(10, time.Second)}}, store.Brake{Pause: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		paused("others", true, false)

		primary.down.Store(true)
		_, _ = l.Allow(ctx, "breaker")
		paused("before", true, true)
		paused("others", true, true)
		paused("never", false, true)
		pause("meanwhile", 10*time.Second)
		paused("meanwhile", true, true)

		primary.down.Store(false)
		time.Sleep(2*time.Second + time.Millisecond)
		_, _ = l.Allow(ctx, "breaker") // An answer makes the pauses known.
		synctest.Wait()
		if s.State() != fallback.StateClosed {
			t.Fatal("not back")
		}
		paused("meanwhile", true, false)
		d, err := primary.Store.Take(ctx, store.Request{Charges: []store.Charge{{Scope: "api", Key: "meanwhile", Limit: store.Per(10, time.Second), Cost: 1}}})
		if err != nil || d.Reason != store.ReasonPaused {
			t.Errorf("the primary does not know the pause: %+v, %v", d, err)
		}
		if err := l.Resume(ctx, "meanwhile"); err != nil {
			t.Fatal(err)
		}
		paused("meanwhile", false, false)
	})
}

// A pause set in an outage also holds calls that wait for slots from the primary.
func TestPauseInAnOutageHoldsThoseWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		primary := &shaky{Store: local}
		s, err := fallback.New(fallback.Config{Primary: primary, Probe: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		l, err := weir.New(weir.Config{Name: "api", Store: s, Limits: []weir.Limit{weir.PerSecond(1).WithBurst(1)}})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := l.Wait(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		went := make(chan time.Duration)
		go func() {
			err := l.Wait(t.Context(), "key")
			if err != nil {
				t.Error(err)
			}
			went <- time.Since(start)
		}()
		synctest.Wait()
		primary.down.Store(true)
		if err := l.Pause(t.Context(), "key", 5*time.Second); err != nil {
			t.Fatal(err)
		}
		if after := <-went; after < 5*time.Second || after > 7*time.Second {
			t.Errorf("a waiting call left after %v", after)
		}
	})
}

// refusingBrakes fails all brakes but the first few.
type refusingBrakes struct {
	*localstore.Store
	left atomic.Int64
}

func (r *refusingBrakes) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	if r.left.Add(-1) < 0 {
		return errShaky
	}
	return r.Store.Brake(ctx, charges, b)
}

// The primary goes away again while it learns of pauses. It learns of the rest on its
// next return.
func TestPausesOutlastAnInterruptedReturn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		brakes := &refusingBrakes{Store: local}
		p := &comingAndGoing{refusingBrakes: brakes}
		p.gone.Store(true)
		s := open(t, fallback.Config{Primary: p, Probe: time.Second})
		keys := []string{"a", "b", "c"}
		charges := func(key string, cost int64) []store.Charge {
			return []store.Charge{{Key: key, Limit: store.Per(10, time.Second), Cost: cost}}
		}
		look := func() { _, _ = s.Take(t.Context(), store.Request{Charges: charges("look", 0)}) }
		look()
		for _, key := range keys {
			if err := s.Brake(t.Context(), charges(key, 0), store.Brake{Pause: time.Hour}); err != nil {
				t.Fatal(err)
			}
		}
		told := func() (n int) {
			for _, key := range keys {
				if d, err := local.Take(t.Context(), store.Request{Charges: charges(key, 1)}); err == nil && d.Reason == store.ReasonPaused {
					n++
				}
			}
			return n
		}
		brakes.left.Store(1)
		p.gone.Store(false)
		back := func() {
			time.Sleep(2 * time.Second)
			look() // It starts the probe.
			synctest.Wait()
		}
		back()
		if n := told(); n != 1 {
			t.Fatalf("the primary learnt of %d pauses, want 1", n)
		}
		p.gone.Store(true)
		look()
		brakes.left.Store(10)
		p.gone.Store(false)
		back()
		if n := told(); n != 3 {
			t.Errorf("the primary learnt of %d pauses, want 3", n)
		}
	})
}

// comingAndGoing is a primary that is away while gone is set.
type comingAndGoing struct {
	*refusingBrakes
	gone atomic.Bool
}

func (a *comingAndGoing) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if a.gone.Load() {
		return store.Decision{}, errShaky
	}
	return a.refusingBrakes.Take(ctx, req)
}
