package combine_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
)

func TestPanic(t *testing.T) {
	t.Parallel()
	panics := func() error { panic("server gone") }
	exits := func() error { runtime.Goexit(); return nil }
	story("on the goroutine of a lone caller", t, config{RoundTrips: 1}, func(t *testing.T, s *server, q *queue) {
		one, two := do(t, t.Context(), q, "a", 1), do(t, t.Context(), q, "a", 2)
		s.replyTo(0, panics)
		if one.panics != "server gone" {
			t.Errorf("got %+v, want the panic", one)
		}
		s.answer(1)
		two.wantResult()
	})
	story("in a batch", t, config{RoundTrips: 1}, func(t *testing.T, s *server, q *queue) {
		do(t, t.Context(), q, "a", 1)
		ctx, cancel := context.WithCancel(t.Context())
		two, three, gone := do(t, t.Context(), q, "a", 2), do(t, t.Context(), q, "a", 3), do(t, ctx, q, "a", 4)
		s.answer(0)
		cancel()
		gone.wantError(context.Canceled, true)
		five := do(t, t.Context(), q, "a", 5)
		s.replyTo(1, panics)
		for _, c := range []*caller{two, three} {
			if c.err == nil || !c.sent || !strings.Contains(c.err.Error(), "combine: Send panicked: server gone") {
				t.Errorf("got %+v, want an error", c)
			}
		}
		s.answer(2)
		five.wantResult()
	})
	story("runtime.Goexit", t, config{RoundTrips: 1}, func(t *testing.T, s *server, q *queue) {
		one, two, three := do(t, t.Context(), q, "a", 1), do(t, t.Context(), q, "a", 2), do(t, t.Context(), q, "a", 3)
		s.replyTo(0, exits)
		if !one.over || one.sent {
			t.Errorf("got %+v, want an ended goroutine", one)
		}
		four := do(t, t.Context(), q, "a", 4)
		s.replyTo(1, exits)
		for _, c := range []*caller{two, three} {
			if c.err == nil || c.err.Error() != "combine: Send ended its goroutine" {
				t.Errorf("got %+v, want an error", c)
			}
		}
		s.answer(2)
		four.wantResult()
	})
}
