package weir_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

// TestWaitLevels: a call waits for its narrow level without holding up others on
// the wide ones, and gives back what it booked when it does not act.
func TestWaitLevels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNest(t)
		ctx := t.Context()
		wait := func(maxWait time.Duration, levels ...weir.Level) (*weir.Reservation, weir.Decision, time.Duration, error) {
			start := time.Now()
			r, d, err := weir.WaitLevels(ctx, maxWait, levels...)
			return r, d, time.Since(start), err
		}
		for range 2 {
			if _, d, took, err := wait(time.Hour, n.levels("ann")...); !d.Allowed || took != 0 || err != nil {
				t.Fatalf("%+v after %v, %v", d, took, err)
			}
		}
		if _, d, took, err := wait(time.Minute, n.levels("ann")...); d.Allowed || took != 0 || err != nil || d.RetryAfter != 30*time.Minute {
			t.Errorf("a slot too far away: %+v after %v, %v", d, took, err)
		}
		n.events = nil
		done := make(chan struct{})
		go func() {
			defer close(done)
			r, d, took, err := wait(time.Hour, n.levels("ann")...)
			if r == nil || !d.Allowed || took != 30*time.Minute || err != nil || d.Delay != 0 || len(d.Charges) != 3 || d.Charge(1).Remaining != 2 {
				t.Errorf("%+v, %+v after %v, %v", r, d, took, err)
				return
			}
			if kinds := len(n.events); kinds != 2 || n.events[0].Kind != weir.EventDecision || n.events[1].Kind != weir.EventWait || n.events[1].Wait != took {
				t.Errorf("told %+v", n.events)
			}
			if err := r.SettleLevels(ctx, 0, 0, 2); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		if d, err := n.org.Allow(ctx, "acme"); !d.Allowed || err != nil {
			t.Errorf("while a user waits the organisation is held up: %+v, %v", d, err)
		}
		<-done
		if left := n.left(t, "ann"); left != "[1 3 8]" {
			t.Errorf("settled at 0, 0 and 2: %s remain", left)
		}
	})
}

func TestWaitLevelsGivesBack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		wide  func(n *nest) // what becomes of the wide level meanwhile
		leave time.Duration
		want  error
	}{
		"a wide level refuses": {wide: func(n *nest) { _, _ = n.org.AllowN(context.Background(), "acme", 4) }, leave: time.Hour},
		"the store fails": {wide: func(n *nest) {
			// The first asks whether the slot is still the call's.
			n.store.Next(weirtest.Pass(), weirtest.Fail(nil))
		}, leave: time.Hour, want: weir.ErrStore},
		"the context ends": {wide: func(*nest) {}, leave: time.Minute, want: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNest(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				levels := n.levels("ann")
				levels[0].Limits = []weir.Limit{weir.PerHour(2).By(weir.FixedWindow)}
				if _, err := weir.AllowLevels(ctx, weir.Level{Limiter: n.user, Key: "ann", Limits: levels[0].Limits, Cost: 2}); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Minute*59, func() { tt.wide(n) })
				time.AfterFunc(tt.leave, func() {
					if tt.leave < time.Hour {
						cancel()
					}
				})
				r, d, err := weir.WaitLevels(ctx, time.Hour, levels...)
				if r != nil || !errors.Is(err, tt.want) || err == nil && (d.Allowed || d.Scope != "org") {
					t.Fatalf("%+v, %+v, %v", r, d, err)
				}
				if n.store.Counts().Cancels != 1 {
					t.Errorf("given back %d times", n.store.Counts().Cancels)
				}
				time.Sleep(2 * time.Hour)
				if d, err := n.all.Peek(t.Context(), "all"); d.Remaining != 10 || err != nil {
					t.Errorf("%d remain of the widest level, %v", d.Remaining, err)
				}
			})
		})
	}
}
