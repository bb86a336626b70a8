package combine_test

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestLeavingBeforeSending(t *testing.T) {
	t.Parallel()
	story("the call is not sent", t, config{RoundTrips: 1}, func(t *testing.T, s *server, q *queue) {
		do(t, t.Context(), q, "a", 1)
		for i, key := range []string{"a", "b", "c"} {
			ctx, cancel := context.WithCancel(t.Context())
			c := do(t, ctx, q, key, 2+i)
			begin := time.Now()
			cancel()
			c.wantError(context.Canceled, false)
			if d := time.Since(begin); d > 0 {
				t.Errorf("left after %v", d)
			}
		}
		last := do(t, t.Context(), q, "c", 5)
		s.answer(0)
		s.want("a:1", "c:5")
		s.answer(1)
		last.wantResult()
	})
	story("any call of a key", t, config{RoundTrips: 1}, func(t *testing.T, s *server, q *queue) {
		var callers []*caller
		var cancels []context.CancelFunc
		do(t, t.Context(), q, "a", 0)
		for i := range 6 {
			ctx, cancel := context.WithCancel(t.Context())
			callers, cancels = append(callers, do(t, ctx, q, "b", i)), append(cancels, cancel)
		}
		for _, i := range []int{0, 3, 5} {
			cancels[i]()
			callers[i].wantError(context.Canceled, false)
		}
		s.answer(0)
		s.want("a:0", "b:1,2,4")
		s.answer(1)
		for _, i := range []int{1, 2, 4} {
			cancels[i]()
			callers[i].wantResult()
		}
	})
	story("its context had ended", t, config{}, func(t *testing.T, s *server, q *queue) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		do(t, ctx, q, "a", 1).wantError(context.Canceled, false)
		s.want()
	})
}

func TestLeavingAfterSending(t *testing.T) {
	t.Parallel()
	// sent makes calls 2 and 3 of a key share a batch, and returns their callers.
	sent := func(t *testing.T, s *server, q *queue, contexts ...context.Context) (callers []*caller) {
		do(t, t.Context(), q, "a", 1)
		for i, ctx := range contexts {
			callers = append(callers, do(t, ctx, q, "a", 2+i))
		}
		s.answer(0)
		s.want("a:1", "a:2,3")
		return callers
	}
	ownContext := func(t *testing.T) (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) }
	story("the others get their results", t, config{}, func(t *testing.T, s *server, q *queue) {
		ctx, cancel := ownContext(t)
		callers := sent(t, s, q, ctx, t.Context())
		begin := time.Now()
		cancel()
		callers[0].wantError(context.Canceled, true)
		if d := time.Since(begin); d > 0 {
			t.Errorf("left after %v", d)
		}
		if err := s.ctx(1).Err(); err != nil {
			t.Errorf("the batch ended: %v", err)
		}
		do(t, t.Context(), q, "b", 4)
		s.answer(1)
		callers[1].wantResult()
		s.answer(2)
	})
	story("the context ends when all have left", t, config{}, func(t *testing.T, s *server, q *queue) {
		ctx, cancel := ownContext(t)
		other, cancelOther := ownContext(t)
		callers := sent(t, s, q, ctx, other)
		cancel()
		callers[0].wantError(context.Canceled, true)
		cancelOther()
		callers[1].wantError(context.Canceled, true)
		if err := s.ctx(1).Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("context of the batch: %v, want it canceled", err)
		}
		next := do(t, t.Context(), q, "a", 4)
		s.replyTo(1, s.ctx(1).Err)
		s.answer(2)
		next.wantResult()
	})
	story("the server answers when all have left", t, config{}, func(t *testing.T, s *server, q *queue) {
		ctx, cancel := ownContext(t)
		callers := sent(t, s, q, ctx, ctx)
		cancel()
		callers[0].wantError(context.Canceled, true)
		callers[1].wantError(context.Canceled, true)
		next := do(t, t.Context(), q, "a", 4)
		s.answer(1)
		s.answer(2)
		next.wantResult()
	})
	stays := config{Stays: func(c *call) bool { return c.number < 4 }}
	story("a call that stays gets its result", t, stays, func(t *testing.T, s *server, q *queue) {
		ctx, cancel := ownContext(t)
		callers := sent(t, s, q, ctx, ctx)
		unsent := do(t, ctx, q, "a", 3)
		cancel()
		unsent.wantError(context.Canceled, false)
		callers[0].wantWaiting()
		if err := s.ctx(1).Err(); err != nil {
			t.Errorf("the batch ended: %v", err)
		}
		s.answer(1)
		callers[0].wantResult()
		callers[1].wantResult()
	})
	story("the batch fails", t, config{}, func(t *testing.T, s *server, q *queue) {
		ctx, cancel := ownContext(t)
		callers := sent(t, s, q, ctx, t.Context())
		cancel()
		s.replyTo(1, func() error { return errServer })
		callers[1].wantError(errServer, true)
	})
}

func TestContext(t *testing.T) {
	t.Parallel()
	// second sends calls with timeouts in one batch, and returns its context's timeout.
	second := func(t *testing.T, s *server, q *queue, timeouts ...time.Duration) (timeout time.Duration, ok bool) {
		do(t, t.Context(), q, "a", 0)
		for i, timeout := range timeouts {
			ctx := t.Context()
			if timeout > 0 {
				own, cancel := context.WithTimeout(ctx, timeout)
				t.Cleanup(cancel)
				ctx = own
			}
			do(t, ctx, q, "a", 1+i)
		}
		s.answer(0)
		deadline, ok := s.ctx(1).Deadline()
		return time.Until(deadline), ok
	}
	story("the latest deadline of all", t, config{}, func(t *testing.T, s *server, q *queue) {
		if got, ok := second(t, s, q, time.Second, 3*time.Second, 2*time.Second); !ok || got != 3*time.Second {
			t.Errorf("got %v, %t, want 3s", got, ok)
		}
		s.answer(1)
		if s.ctx(1).Err() == nil {
			t.Error("the context outlives its batch")
		}
	})
	story("none where one has none", t, config{}, func(t *testing.T, s *server, q *queue) {
		if got, ok := second(t, s, q, time.Second, 0); ok {
			t.Errorf("got %v", got)
		}
		s.answer(1)
	})
}
