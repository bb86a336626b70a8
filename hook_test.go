package weir_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

// toldHook keeps what a Hook is told.
type toldHook struct {
	mu   sync.Mutex
	told []weir.Event
}

func (h *toldHook) Observe(_ context.Context, e weir.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, e)
}

// of returns the events of a kind.
func (h *toldHook) of(kind weir.EventKind) []weir.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.told), func(e weir.Event) bool { return e.Kind != kind })
}

// wantWait fails the test unless the Hook was told of one wait, which ended after
// some time with an error, and of nothing that the error is not.
func (h *toldHook) wantWait(t *testing.T, wait time.Duration, err error, reason weir.Reason) {
	t.Helper()
	waits := h.of(weir.EventWait)
	if len(waits) != 1 {
		t.Fatalf("told of %d waits, want one: %+v", len(waits), waits)
	}
	if e := waits[0]; e.Wait != wait || !errors.Is(e.Err, err) || (e.Err == nil) != (err == nil) || e.Decision.Reason != reason || e.Key != "key" || e.Cost != 1 {
		t.Errorf("told %+v, want a wait of %v that ended with %v (%v)", e, wait, err, reason)
	}
}

// TestEventWaitOfMovedSlots: a wait whose slot a brake moves has one end, also when the
// call books again.
func TestEventWaitOfMovedSlots(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit  weir.Limit
		pause  time.Duration // before the call
		after  func(ctx context.Context, l *weir.Limiter, s *weirtest.Store) error
		wait   time.Duration
		err    error
		reason weir.Reason
	}{
		"refused": {weir.PerSecond(1), 0, func(ctx context.Context, l *weir.Limiter, _ *weirtest.Store) error {
			return l.Pause(ctx, "key", time.Hour)
		}, 2 * time.Second, weir.ErrLimited, weir.ReasonPaused},
		"admitted": {weir.PerSecond(10).By(weir.SlidingWindow), 10 * time.Second, func(ctx context.Context, l *weir.Limiter, _ *weirtest.Store) error {
			return l.Resume(ctx, "key")
		}, 2 * time.Second, nil, weir.ReasonAllowed},
		"reset": {weir.PerSecond(10), 10 * time.Second, func(ctx context.Context, l *weir.Limiter, _ *weirtest.Store) error {
			return l.Reset(ctx, "key")
		}, 10 * time.Second, nil, weir.ReasonAllowed},
		"the store fails": {weir.PerSecond(1), 0, func(ctx context.Context, l *weir.Limiter, s *weirtest.Store) error {
			s.Next(weirtest.Fail(errors.New("down")))
			return l.Pause(ctx, "key", time.Hour)
		}, 2 * time.Second, weir.ErrStore, weir.ReasonAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, h := weirtest.NewStore(localStore(t)), new(toldHook)
				l := onLocal(t, weir.Config{Store: store, Limits: []weir.Limit{test.limit}, Hook: h})
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				if test.pause > 0 {
					if err := l.Pause(ctx, "key", test.pause); err != nil {
						t.Fatal(err)
					}
				} else {
					for range 5 {
						if _, err := l.Reserve(ctx, "key"); err != nil {
							t.Fatal(err)
						}
					}
				}
				done := make(chan error)
				go func() { done <- l.Wait(ctx, "key") }()
				time.Sleep(2 * time.Second)
				if err := test.after(ctx, l, store); err != nil {
					t.Fatal(err)
				}
				if err := <-done; !errors.Is(err, test.err) {
					t.Errorf("ended with %v, want %v", err, test.err)
				}
				h.wantWait(t, test.wait, test.err, test.reason)
			})
		})
	}
}

// TestEventWaitInBackground: background calls that waited, in the line or for
// units, have an end; one that is admitted at once did not wait.
func TestEventWaitInBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := new(toldHook)
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1)}, Hook: h, MaxWait: 2500 * ms})
		n := newLine(l)
		leaving, cancel := context.WithCancel(t.Context())
		for i := range 5 {
			ctx := t.Context()
			if i == 3 {
				ctx = leaving
			}
			n.join(weir.InBackground(ctx), i, "key")
		}
		time.Sleep(500 * ms)
		cancel()
		n.wg.Wait()
		var got []string
		for _, e := range h.of(weir.EventWait) {
			got = append(got, fmt.Sprint(e.Wait, " ", e.Decision.Reason, " ", e.Err != nil))
		}
		if want := []string{"500ms limited true", "1s allowed false", "2s allowed false", "2s limited true"}; !slices.Equal(got, want) {
			t.Errorf("told of waits %v, want %v", got, want)
		}
	})
}

// TestEventWaitOfTheFirstInBackground, which is refused when it has waited for
// its turn.
func TestEventWaitOfTheFirstInBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := new(toldHook)
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1)}, Hook: h})
		ctx := weir.InBackground(t.Context())
		if err := l.Wait(ctx, "key"); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- l.WaitMax(ctx, "key", 1, 1500*ms) }()
		time.Sleep(500 * ms)
		if err := l.Pause(ctx, "key", time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, weir.ErrLimited) {
			t.Errorf("ended with %v", err)
		}
		h.wantWait(t, time.Second, weir.ErrLimited, weir.ReasonPaused)
		if err := l.WaitMax(ctx, "key", 1, time.Second); !errors.Is(err, weir.ErrLimited) || len(h.of(weir.EventWait)) != 1 {
			t.Errorf("refused at once: %v, told %+v", err, h.of(weir.EventWait))
		}
	})
}

// TestEventStoreErrorOfTheLastLook: a store that fails when a call asks whether its
// slot is still its own is told of, and what it granted holds.
func TestEventStoreErrorOfTheLastLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := new(toldHook)
		l := onLocal(t, weir.Config{
			Store:  newAskedAgain(t, func(context.Context) error { return errors.New("down") }),
			Limits: []weir.Limit{weir.PerSecond(1)}, Hook: h,
		})
		for range 2 {
			if err := l.Wait(t.Context(), "key"); err != nil {
				t.Fatal(err)
			}
		}
		failed := h.of(weir.EventStoreError)
		if len(failed) != 1 || !errors.Is(failed[0].Err, weir.ErrStore) || failed[0].Key != "key" || failed[0].Cost != 1 {
			t.Errorf("told of %+v, want one failure of the store", failed)
		}
		h.wantWait(t, time.Second, nil, weir.ReasonAllowed)
	})
}
