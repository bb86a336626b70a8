package weir_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// askedAgain is a store whose watches miss everything, and which answers those
// who ask whether their slot is still theirs as it is told to.
type askedAgain struct {
	*localstore.Store
	look  func(ctx context.Context) error // before looks are answered; nil: as they are
	looks atomic.Int64
}

func (*askedAgain) WatchBrakes(func(string, string, store.Instant)) store.Watch { return deafWatch{} }

func (a *askedAgain) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if req.Peek() {
		a.looks.Add(1)
		if a.look != nil {
			if err := a.look(ctx); err != nil {
				return store.Decision{}, err
			}
		}
	}
	return a.Store.Take(ctx, req)
}

func newAskedAgain(t *testing.T, look func(ctx context.Context) error) *askedAgain {
	t.Helper()
	local, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &askedAgain{Store: local, look: look}
}

// TestMaxWaitersCountsThoseWhoBookAgain: who learns only when its slot comes that
// it is void is counted on, once, however full the line is meanwhile.
func TestMaxWaitersCountsThoseWhoBookAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l *weir.Limiter
		first := true
		store := newAskedAgain(t, func(ctx context.Context) error {
			if first { // Somebody takes the place in the line meanwhile.
				first = false
				_, _ = l.Allow(ctx, "another")
				go func() { _ = l.Wait(ctx, "another") }()
				time.Sleep(ms)
			}
			return nil
		})
		l = onLocal(t, weir.Config{Store: store, Limits: []weir.Limit{weir.PerSecond(1).WithBurst(1)}, MaxWaiters: 1})
		if err := l.Wait(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		n := newLine(l)
		n.join(t.Context(), 0, "key")
		time.Sleep(500 * ms)
		if err := l.Pause(t.Context(), "key", 5*time.Second); err != nil {
			t.Fatal(err)
		}
		n.wg.Wait()
		if o, _ := n.get(0); o.err != nil {
			t.Errorf("the call that waited: %v", o.err)
		}
		time.Sleep(time.Minute)
		if queues, calls := l.Waiting(); queues != 0 || calls != 0 {
			t.Errorf("%d queues, %d calls are counted as waiting", queues, calls)
		}
	})
}

// TestAskingAStoreThatHangs: while one call asks whether its slot is still its
// own, the others' contexts hold, and what it learns does for them too.
func TestAskingAStoreThatHangs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		look func(ctx context.Context) error
		want time.Duration // when the last call is through
	}{
		"fails after 5 s":   {func(context.Context) error { time.Sleep(5 * time.Second); return errors.New("down") }, 5 * time.Second},
		"answers after 5 s": {func(context.Context) error { time.Sleep(5 * time.Second); return nil }, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newAskedAgain(t, test.look)
				l := onLocal(t, weir.Config{Store: store, Limits: []weir.Limit{weir.PerSecond(100).WithBurst(1)}})
				n := newLine(l)
				for i := range 20 { // Those from the 6th on wait long enough to ask.
					ctx := t.Context()
					if i == 10 {
						timed, cancel := context.WithTimeout(ctx, time.Second)
						defer cancel()
						ctx = timed
					}
					n.join(ctx, i, "key")
				}
				n.wg.Wait()
				for i := range 20 {
					o, _ := n.get(i)
					most := 200*ms + 2*test.want
					if i == 10 {
						most = time.Second
					}
					if o.err != nil || o.after > most {
						t.Errorf("call %d: %v after %v, want at most %v", i, o.err, o.after, most)
					}
				}
				if got := store.looks.Load(); got > 3 {
					t.Errorf("the store was asked %d times, want at most 3", got)
				}
			})
		})
	}
}
