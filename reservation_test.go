package weir_test

import (
	"context"
	"errors"
	"sync"

	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

func TestReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(gcraStore)
		l := newLimiter(t, s)
		for i := range 3 {
			r, err := l.Reserve(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			want := time.Duration(i) * 10 * ms
			if r.Delay() != want || r.Decision().Delay != want || !r.Decision().Allowed {
				t.Errorf("delay %v of %+v, want %v", r.Delay(), r.Decision(), want)
			}
			if i < 2 {
				continue
			}
			time.Sleep(15 * ms)
			if r.Delay() != 5*ms {
				t.Errorf("15ms later the delay is %v, want 5ms", r.Delay())
			}
			time.Sleep(time.Second)
			if r.Delay() != 0 {
				t.Errorf("after the slot the delay is %v, want 0", r.Delay())
			}
		}
		s.check(t, l, 3, 3)
	})
}

func TestReserveBounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name              string
		deadline, maxWait time.Duration
		bound             bound
	}{
		{"deadline", 9 * ms, 0, boundDeadline},
		{"max wait", 0, 9 * ms, boundMaxWait},
		{"none", 10 * ms, 10 * ms, boundNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := new(gcraStore)
				l := newLimiter(t, s, func(c *weir.Config) { c.MaxWait = tt.maxWait })
				if _, err := l.Reserve(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				r, err := l.Reserve(ctx, "k")
				if tt.bound == boundNone {
					if err != nil || r.Delay() != 10*ms {
						t.Errorf("got %v, want a reservation", err)
					}
					s.check(t, l, 2, 2)
					return
				}
				var limited *weir.LimitedError
				if !errors.As(err, &limited) || boundOf(limited) != tt.bound || limited.RetryAfter != 10*ms {
					t.Errorf("got %v, want a refusal with bound %v, retry after 10ms", err, tt.bound)
				}
				s.check(t, l, 2, 1)
			})
		})
	}
}

// TestReserveTooLate: the round trip takes longer than the time to the deadline, or to
// the slot.
func TestReserveTooLate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		deadline time.Duration
		want     string
	}{
		{"context ends in the store", 15 * ms, "deadline"},
		{"slot past the deadline", 25 * ms, "limited"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &gcraStore{after: func(call int) time.Duration { return time.Duration(call) * 20 * ms }}
				l := newLimiter(t, s)
				if _, err := l.Reserve(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
				defer cancel()
				r, err := l.Reserve(ctx, "k")
				if r != nil {
					t.Error("got a reservation")
				}
				wantKind(t, err, tt.want)
				s.check(t, l, 2, 1)
			})
		})
	}
}

func TestReservationCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(gcraStore)
		l := newLimiter(t, s)
		if _, err := l.Reserve(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		r, err := l.Reserve(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := r.Cancel(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s.check(t, l, 2, 1)
		if s.cancels != 1 || s.inexact != 0 {
			t.Errorf("%d cancels, %d not exact, want 1 that is", s.cancels, s.inexact)
		}
		if r, err = l.Reserve(t.Context(), "k"); err != nil || r.Delay() != 10*ms {
			t.Errorf("the next slot: %v, %v, want 10ms away", r, err)
		}
	})
}

func TestReservationCancelAfterContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(gcraStore)
		l := newLimiter(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		r, err := l.Reserve(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := r.Cancel(ctx); err != nil {
			t.Error(err)
		}
		s.check(t, l, 1, 0)
	})
}

func TestReservationCancelFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name  string
		store weir.Store
		ctx   context.Context
		took  time.Duration
		is    error
	}{
		{"store can't", struct{ weir.Store }{new(gcraStore)}, t.Context(), 0, weir.ErrUnsupported},
		{"store fails", &gcraStore{cancel: func(int) error { return broken }}, t.Context(), 0, broken},
		{"store hangs after the context", hangingCanceler{new(gcraStore)}, over, 5 * time.Second, weir.ErrStore},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(t, tt.store)
				r, err := l.Reserve(t.Context(), "k")
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				err = r.Cancel(tt.ctx)
				if !errors.Is(err, tt.is) || errors.Is(err, context.DeadlineExceeded) || time.Since(start) != tt.took {
					t.Errorf("got %v after %v, want %v after %v", err, time.Since(start), tt.is, tt.took)
				}
				if err := r.Cancel(t.Context()); err != nil {
					t.Errorf("the second time: %v, want nil", err)
				}
			})
		})
	}
}

func TestReservationCancelNothing(t *testing.T) {
	t.Parallel()
	// A store that decided without its primary may have nothing to undo.
	l := newLimiter(t, struct {
		weir.Store
		store.Canceler
	}{freeStore{}, nil})
	r, err := l.Reserve(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestReservationCancelEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, hangingCanceler{new(gcraStore)})
		r, err := l.Reserve(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err = r.Cancel(ctx)
		wantKind(t, err, "deadline")
		if took := time.Since(start); took != time.Second {
			t.Errorf("returned after %v, want 1s", took)
		}
	})
}

// TestReservationMovesWaitersUp: a reservation that comes too late leaves its slot to a
// waiting call.
func TestReservationMovesWaitersUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &gcraStore{after: func(call int) time.Duration {
			if call == 1 {
				return 5 * ms
			}
			return 0
		}}
		l := newLimiter(t, s)
		n := newLine(l)
		n.join(t.Context(), 0, "k")
		ctx, cancel := context.WithTimeout(t.Context(), 12*ms)
		defer cancel()
		n.wg.Go(func() {
			_, err := l.Reserve(ctx, "k")
			wantKind(t, err, "limited")
		})
		synctest.Wait()
		n.join(t.Context(), 1, "k")
		n.wg.Wait()
		n.want(t, 1, 15*ms, nil)
		s.check(t, l, 3, 2)
	})
}

func TestWaitForOneLevel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		cost    int64
		limits  []weir.Limit // nil: the limiter's, 2 per minute
		maxWait time.Duration
		timeout time.Duration // of the context; 0: none
		used    int64         // before
		want    weir.Decision // Allowed, Reason and RetryAfter
		after   time.Duration
	}{
		{name: "now", cost: 2, want: weir.Decision{Allowed: true}},
		{name: "not now", cost: 1, used: 2, want: weir.Decision{Reason: weir.ReasonLimited, RetryAfter: 30 * time.Second}},
		{name: "soon", cost: 1, used: 2, maxWait: 30 * time.Second, want: weir.Decision{Allowed: true}, after: 30 * time.Second},
		{name: "too late", cost: 1, used: 2, maxWait: 30*time.Second - 1000, want: weir.Decision{Reason: weir.ReasonLimited, RetryAfter: 30 * time.Second}},
		{name: "past the deadline", cost: 1, used: 2, maxWait: time.Minute, timeout: 29 * time.Second, want: weir.Decision{Reason: weir.ReasonLimited, RetryAfter: 30 * time.Second}},
		{name: "never", cost: 3, maxWait: time.Hour, want: weir.Decision{Reason: weir.ReasonNeverFits, RetryAfter: store.Never}},
		{name: "other limits", cost: 3, limits: []weir.Limit{weir.PerMinute(3)}, want: weir.Decision{Allowed: true}},
		{name: "nothing", cost: 0, used: 2, want: weir.Decision{Allowed: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := reserver(t, nil)
				if d, err := l.AllowN(t.Context(), "k", tt.used); !d.Allowed || err != nil {
					t.Fatal(d, err)
				}
				ctx := t.Context()
				if tt.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.timeout)
					defer cancel()
				}
				start := time.Now()
				r, d, err := weir.WaitLevels(ctx, tt.maxWait, weir.Level{Limiter: l, Key: "k", Cost: tt.cost, Limits: tt.limits, Peek: tt.cost == 0})
				if err != nil || (r != nil) != d.Allowed {
					t.Fatalf("reservation %t of %+v, %v", r != nil, d, err)
				}
				if d.Allowed != tt.want.Allowed || d.Reason != tt.want.Reason || d.Delay != 0 || d.RetryAfter != tt.want.RetryAfter || time.Since(start) != tt.after {
					t.Errorf("got %+v after %v, want %+v after %v", d, time.Since(start), tt.want, tt.after)
				}
				if r == nil || tt.limits != nil {
					return
				}
				if err := r.Settle(t.Context(), 0); err != nil {
					t.Error(err)
				}
				if d, err := l.Peek(t.Context(), "k"); d.Remaining != 2-tt.used+int64(tt.after/(30*time.Second)) || err != nil {
					t.Errorf("%d remaining after the refund, %v", d.Remaining, err)
				}
			})
		})
	}
}

func TestWaitForOneLevelMistakes(t *testing.T) {
	t.Parallel()
	l := reserver(t, nil)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func() error{
		"a wait below 0": func() error {
			_, _, err := weir.WaitLevels(t.Context(), -1, weir.Level{Limiter: l, Key: "k"})
			return err
		},
		"no limits": func() error {
			_, _, err := weir.WaitLevels(t.Context(), 0, weir.Level{Limiter: l, Key: "k", Limits: []weir.Limit{}})
			return err
		},
		"a wrong limit": func() error {
			_, _, err := weir.WaitLevels(t.Context(), 0, weir.Level{Limiter: l, Key: "k", Limits: []weir.Limit{{}}})
			return err
		},
		"a cost below 0": func() error {
			_, _, err := weir.WaitLevels(t.Context(), 0, weir.Level{Limiter: l, Key: "k", Cost: -1})
			return err
		},
		"an ended context": func() error {
			_, _, err := weir.WaitLevels(over, 0, weir.Level{Limiter: l, Key: "k"})
			if !errors.Is(err, context.Canceled) {
				return nil
			}
			return weir.ErrConfig
		},
	} {
		if err := call(); !errors.Is(err, weir.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d, err := l.Peek(t.Context(), "k"); d.Remaining != 2 || err != nil {
		t.Errorf("%d remaining, %v", d.Remaining, err)
	}
}

// TestLevelOfALateStore: a slot that the store granted too late is given back. The
// call is refused if the slot is past the deadline. If the context has ended, the call
// returns the context's error.
func TestLevelOfALateStore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		slow    time.Duration
		refused bool
	}{"past the deadline": {5 * time.Second, true}, "past the context": {40 * time.Second, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slow := time.Duration(0)
				l := reserver(t, &slow)
				if d, err := l.AllowN(t.Context(), "k", 2); !d.Allowed || err != nil {
					t.Fatal(d, err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 32*time.Second)
				defer cancel()
				slow = tt.slow
				r, d, err := weir.WaitLevels(ctx, time.Hour, weir.Level{Limiter: l, Key: "k"})
				slow = 0
				if r != nil || d.Allowed || (err == nil) != tt.refused || tt.refused && (d.Reason != weir.ReasonLimited || d.RetryAfter != 25*time.Second) {
					t.Errorf("reservation %t, %+v, %v", r != nil, d, err)
				}
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				time.Sleep(time.Minute)
				if d, err := l.Peek(t.Context(), "k"); d.Remaining != 2 || err != nil {
					t.Errorf("%d remaining, %v", d.Remaining, err)
				}
			})
		})
	}
}

// slowStore takes its time after it has decided.
type slowStore struct {
	*localstore.Store
	slow *time.Duration
}

func (s slowStore) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	d, err := s.Store.Take(ctx, req)
	if req.MaxWait > 0 {
		time.Sleep(*s.slow)
	}
	return d, err
}

func reserver(t *testing.T, slow *time.Duration) *weir.Limiter {
	t.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if slow != nil {
		return limiter(t, slowStore{s, slow})
	}
	return limiter(t, s)
}

func limiter(t *testing.T, s weir.Store) *weir.Limiter {
	t.Helper()
	l, err := weir.New(weir.Config{Name: "api", Store: s, Limits: []weir.Limit{weir.PerMinute(2)}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
