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
		bound             weir.Bound
	}{
		{"deadline", 9 * ms, 0, weir.BoundDeadline},
		{"max wait", 0, 9 * ms, weir.BoundMaxWait},
		{"none", 10 * ms, 10 * ms, weir.BoundNone},
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
				if tt.bound == weir.BoundNone {
					if err != nil || r.Delay() != 10*ms {
						t.Errorf("got %v, want a reservation", err)
					}
					s.check(t, l, 2, 2)
					return
				}
				var limited *weir.LimitedError
				if !errors.As(err, &limited) || limited.Bound != tt.bound || limited.RetryAfter != 10*ms {
					t.Errorf("got %v, want a refusal with bound %d, retry after 10ms", err, tt.bound)
				}
				s.check(t, l, 2, 1)
			})
		})
	}
}

// TestReserveTooLate has the round trip outlast the deadline, or the time that
// is left until the slot.
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

// TestReservationMovesWaitersUp has a reservation that comes too late leave
// its slot to a call that waits.
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
