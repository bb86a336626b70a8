package weir_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

const ms = time.Millisecond

// line starts waiting calls one after the other and records how they end.
type line struct {
	l     *weir.Limiter
	start time.Time
	wg    sync.WaitGroup
	mu    sync.Mutex
	ended map[int]outcome
}

type outcome struct {
	after time.Duration // since the line was made
	err   error
}

func newLine(l *weir.Limiter) *line {
	return &line{l: l, start: time.Now(), ended: make(map[int]outcome)}
}

// join starts call i and returns when it is asleep: in the store or in the
// queue.
func (n *line) join(ctx context.Context, i int, key string) {
	n.wg.Go(func() {
		err := n.l.Wait(ctx, key)
		n.mu.Lock()
		n.ended[i] = outcome{time.Since(n.start), err}
		n.mu.Unlock()
	})
	synctest.Wait()
}

func (n *line) get(i int) (outcome, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o, ok := n.ended[i]
	return o, ok
}

func (n *line) want(t *testing.T, i int, after time.Duration, err error) {
	t.Helper()
	got, ok := n.get(i)
	switch {
	case !ok:
		t.Errorf("call %d did not end, want %v after %v", i, err, after)
	case got.after != after || !errors.Is(got.err, err):
		t.Errorf("call %d ended after %v with %v, want %v after %v", i, got.after, got.err, err, after)
	}
}

func TestWaitThousand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(gcraStore)
		l := newLimiter(t, s, func(c *weir.Config) { c.MaxWaiters = 1000 })
		n := newLine(l)
		for i := range 1000 {
			n.join(t.Context(), i, "k")
		}
		n.wg.Wait()
		for i := range 1000 {
			n.want(t, i, time.Duration(i)*10*ms, nil)
		}
		s.check(t, l, 1000, 1000)
	})
}

func TestWaitAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(gcraStore)
		var kinds []weir.EventKind
		l := newLimiter(t, s, func(c *weir.Config) {
			c.Limits = []weir.Limit{weir.PerSecond(3)}
			c.Hook = func(_ context.Context, e weir.Event) { kinds = append(kinds, e.Kind) }
		})
		n := newLine(l)
		for i := range 3 {
			n.join(t.Context(), i, "k")
			n.want(t, i, 0, nil)
		}
		s.check(t, l, 3, 3)
		if got := fmt.Sprint(kinds); got != "[decision decision decision]" {
			t.Errorf("events %v, want decisions only", kinds)
		}
	})
}

func TestWaitBounds(t *testing.T) {
	t.Parallel()
	type call struct {
		deadline time.Duration // from now; 0: none
		maxWait  time.Duration // 0: none
	}
	tests := []struct {
		name    string
		call    call
		bound   bound // boundNone: admitted at its slot, after a second
		waiting bool
	}{
		{name: "no bound"},
		{name: "deadline after the slot", call: call{deadline: 1001 * ms}},
		{name: "deadline at the slot", call: call{deadline: time.Second}},
		{name: "deadline before the slot", call: call{deadline: 999 * ms}, bound: boundDeadline},
		{name: "max wait after the slot", call: call{maxWait: 1001 * ms}},
		{name: "max wait at the slot", call: call{maxWait: time.Second}},
		{name: "max wait before the slot", call: call{maxWait: 999 * ms}, bound: boundMaxWait},
		{name: "deadline before max wait", call: call{998 * ms, 999 * ms}, bound: boundDeadline},
		{name: "max wait before deadline", call: call{999 * ms, 998 * ms}, bound: boundMaxWait},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := new(gcraStore)
				l := newLimiter(t, s, func(c *weir.Config) {
					c.Limits = []weir.Limit{weir.PerSecond(1)}
					c.MaxWait = tt.call.maxWait
				})
				start := time.Now()
				if err := l.Wait(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				if tt.call.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.call.deadline)
					defer cancel()
				}
				err := l.Wait(ctx, "k")
				took := time.Since(start)
				if tt.bound == boundNone {
					if err != nil || took != time.Second {
						t.Errorf("ended after %v with %v, want nil after 1s", took, err)
					}
					s.check(t, l, 2, 2)
					return
				}
				var limited *weir.LimitedError
				if !errors.As(err, &limited) || took != 0 {
					t.Fatalf("ended after %v with %v, want a LimitedError at once", took, err)
				}
				if boundOf(limited) != tt.bound || limited.Reason != weir.ReasonLimited || limited.RetryAfter != time.Second || limited.Key != "k" {
					t.Errorf("got %+v, want bound %v, retry after 1s", *limited, tt.bound)
				}
				s.check(t, l, 2, 1)
			})
		})
	}
}

func TestWaitRoundTripAteDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &gcraStore{after: func(int) time.Duration { return 100 * ms }}
		var waits []weir.Event
		l := newLimiter(t, s, func(c *weir.Config) {
			c.Limits = []weir.Limit{weir.Per(1, 200*ms)}
			c.Hook = func(_ context.Context, e weir.Event) {
				if e.Kind == weir.EventWait {
					waits = append(waits, e)
				}
			}
		})
		if _, err := l.Allow(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		// 100ms later the slot is 100ms away by the store's clock, but the reply takes as long
		// again.
		ctx, cancel := context.WithTimeout(t.Context(), 150*ms)
		defer cancel()
		start := time.Now()
		err := l.Wait(ctx, "k")
		var limited *weir.LimitedError
		if !errors.As(err, &limited) || boundOf(limited) != boundDeadline || limited.RetryAfter != 100*ms {
			t.Errorf("got %v, want a refusal for the deadline, retry after 100ms", err)
		}
		if took := time.Since(start); took != 100*ms {
			t.Errorf("ended after %v, want the reply's 100ms", took)
		}
		if len(waits) != 1 || waits[0].Err != err || waits[0].Took != 100*ms {
			t.Errorf("events %+v, want one of the wait", waits)
		}
		s.check(t, l, 2, 1)
	})
}

func TestWaitContextOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(gcraStore)
		l := newLimiter(t, s, func(c *weir.Config) { c.MaxWaiters = 1 })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Wait(ctx, "k"); err != context.Canceled {
			t.Errorf("got %v, want context.Canceled", err)
		}
		ctx, cancel = context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		if err := l.Wait(ctx, "k"); err != context.DeadlineExceeded {
			t.Errorf("got %v, want context.DeadlineExceeded", err)
		}
		s.check(t, l, 0, 0)
	})
}

func TestMaxWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(gcraStore)
		var refused []weir.Decision
		l := newLimiter(t, s, func(c *weir.Config) {
			c.MaxWaiters = 3
			c.Hook = func(_ context.Context, e weir.Event) {
				if e.Kind == weir.EventDecision && !e.Decision.Allowed {
					refused = append(refused, e.Decision)
				}
			}
		})
		n := newLine(l)
		for _, key := range []string{"a", "b"} {
			if _, err := l.Allow(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		n.join(ctx, 0, "a")
		n.join(t.Context(), 1, "a")
		n.join(t.Context(), 2, "b")
		n.join(t.Context(), 3, "b")
		o, _ := n.get(3)
		var limited *weir.LimitedError
		if !errors.As(o.err, &limited) || limited.Reason != weir.ReasonTooManyWaiters || limited.Limit != l.Config().Limits[0] {
			t.Errorf("got %v, want a refusal for too many waiters", o.err)
		}
		if len(refused) != 1 || refused[0].Reason != weir.ReasonTooManyWaiters {
			t.Errorf("refusals %+v, want one for too many waiters", refused)
		}
		s.check(t, newLimiter(t, s), 5, 5)

		// One leaves, so that one may come; at 10ms one of each key goes.
		cancel()
		synctest.Wait()
		n.join(t.Context(), 4, "b")
		n.join(t.Context(), 5, "b")
		time.Sleep(10 * ms)
		synctest.Wait()
		n.join(t.Context(), 6, "b")
		n.join(t.Context(), 7, "b")
		n.join(t.Context(), 8, "b")
		n.wg.Wait()
		n.want(t, 0, 0, context.Canceled)
		n.want(t, 1, 10*ms, nil)
		n.want(t, 2, 10*ms, nil)
		n.want(t, 4, 20*ms, nil)
		n.want(t, 5, 0, weir.ErrLimited)
		n.want(t, 6, 30*ms, nil)
		n.want(t, 7, 40*ms, nil)
		n.want(t, 8, 10*ms, weir.ErrLimited)
		s.check(t, l, 8, 7)
	})
}

// TestMaxWaitersCountsNothingTwice: a call that ends in any way makes room for another.
func TestMaxWaitersCountsNothingTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		s := &gcraStore{fault: func(call int) error {
			switch call {
			case 1:
				return broken
			case 2:
				panic(broken)
			}
			return nil
		}}
		l := newLimiter(t, s, func(c *weir.Config) { c.MaxWaiters = 1 })
		wait := func(ctx context.Context, cost int64) (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = r.(error)
				}
			}()
			return l.WaitN(ctx, "k", cost)
		}
		soon, cancel := context.WithTimeout(t.Context(), 5*ms)
		defer cancel()
		for i, c := range []struct {
			ctx  context.Context
			cost int64
			want error
		}{
			{t.Context(), 1, nil},             // at once
			{t.Context(), 1, weir.ErrStore},   // an error
			{t.Context(), 1, broken},          // a panic
			{soon, 1, weir.ErrLimited},        // past the deadline
			{t.Context(), 2, weir.ErrLimited}, // never fits, no call of the store
			{t.Context(), 1, nil},             // in its slot
			{t.Context(), -1, weir.ErrConfig}, // no call of the store
		} {
			if err := wait(c.ctx, c.cost); !errors.Is(err, c.want) {
				t.Errorf("call %d: got %v, want %v", i, err, c.want)
			}
			nothingLeft(t, l)
		}
		s.check(t, l, 5, 2)
	})
}

func TestWaitEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(gcraStore)
		var mu sync.Mutex
		var waits []weir.Event
		l := newLimiter(t, s, func(c *weir.Config) {
			c.Name = "n"
			c.Hook = func(_ context.Context, e weir.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == weir.EventWait {
					waits = append(waits, e)
				}
			}
		})
		n := newLine(l)
		ctx, cancel := context.WithCancel(t.Context())
		n.join(t.Context(), 0, "k")
		n.join(t.Context(), 1, "k")
		n.join(ctx, 2, "k")
		time.Sleep(3 * ms)
		cancel()
		n.wg.Wait()
		if len(waits) != 2 {
			t.Fatalf("%d events, want 2: %+v", len(waits), waits)
		}
		for i, want := range []weir.Event{
			{Took: 3 * ms, Err: context.Canceled, Decision: weir.Decision{Delay: 20 * ms}},
			{Took: 10 * ms, Decision: weir.Decision{Delay: 10 * ms}},
		} {
			got := waits[i]
			if got.Took != want.Took || got.Err != want.Err || got.Decision.Delay != want.Decision.Delay ||
				got.Scope != "n" || got.Key != "k" || got.Cost != 1 || got.Decision.Limit != l.Config().Limits[0] {
				t.Errorf("event %d: got %+v, want %+v", i, got, want)
			}
		}
	})
}

func TestDo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(gcraStore)
		l := newLimiter(t, s)
		failed := errors.New("failed")
		start := time.Now()
		for i := range 3 {
			err := l.Do(t.Context(), "k", func(ctx context.Context) error {
				if at := time.Since(start); at != time.Duration(i)*10*ms || ctx != t.Context() {
					t.Errorf("run %d after %v", i, at)
				}
				return failed
			})
			if err != failed {
				t.Errorf("got %v, want what f returned", err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), ms)
		defer cancel()
		err := l.Do(ctx, "k", func(context.Context) error {
			t.Error("run past the deadline")
			return nil
		})
		if !errors.Is(err, weir.ErrLimited) {
			t.Errorf("got %v, want a refusal", err)
		}
		s.check(t, l, 4, 3)
	})
}

// tardy is a store that grants one slot a second, whose first reply is late.
type tardy struct {
	granted int
	back    []any
}

func (s *tardy) Take(_ context.Context, req store.Request) (store.Decision, error) {
	n := s.granted
	s.granted++
	d := store.Decision{
		Allowed: true, Limit: req.Charges[0].Limit, Receipt: n,
		At: store.Instant(1_000_000 + n), Delay: time.Second + time.Duration(n)*20*ms,
	}
	if n == 0 {
		time.Sleep(100 * ms)
	}
	return d, nil
}

func (s *tardy) Cancel(_ context.Context, receipt any) error {
	s.back = append(s.back, receipt)
	return nil
}

// TestLateReplies: calls give back the slots that the store granted last, also if the
// replies were late.
func TestLateReplies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &tardy{}
		l := onLocal(t, weir.Config{Store: store, Limits: []weir.Limit{weir.PerSecond(1)}})
		n := newLine(l)
		ctx, cancel := context.WithCancel(t.Context())
		n.join(t.Context(), 0, "key")
		n.join(ctx, 1, "key")
		n.join(ctx, 2, "key")
		time.Sleep(200 * ms)
		cancel()
		n.wg.Wait()
		if len(store.back) != 2 || store.back[0] != 2 || store.back[1] != 1 {
			t.Errorf("%v was given back, want 2 and 1", store.back)
		}
		if o, _ := n.get(1); !errors.Is(o.err, context.Canceled) {
			t.Errorf("%v", o.err)
		}
	})
}
