package combine_test

import (
	"context"
	"testing"
	"testing/synctest"
)

// story is a test with a fake server, in the time of synctest.
func story(name string, t *testing.T, c config, tell func(t *testing.T, s *server, q *queue)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			tell(t, s, s.queue(c))
		})
	})
}

func TestWhenCallsLeave(t *testing.T) {
	t.Parallel()
	type key struct{}
	story("a lone caller sends with its own context", t, config{}, func(t *testing.T, s *server, q *queue) {
		ctx := context.WithValue(t.Context(), key{}, "mine")
		one := do(t, ctx, q, "a", 1)
		s.want("a:1")
		if got := s.ctx(0); got != ctx {
			t.Errorf("context %v, want the caller's", got)
		}
		s.answer(0)
		one.wantResult()
	})
	story("one after the other", t, config{RoundTrips: 1}, func(t *testing.T, s *server, q *queue) {
		for i := range 3 {
			c := do(t, t.Context(), q, "a", i)
			s.answer(i)
			c.wantResult()
		}
		s.want("a:0", "a:1", "a:2")
	})
	story("calls of a key under way join the next batch, in order", t, config{}, func(t *testing.T, s *server, q *queue) {
		one, two, three := do(t, t.Context(), q, "a", 1), do(t, t.Context(), q, "a", 2), do(t, context.Background(), q, "a", 3)
		s.want("a:1")
		s.answer(0)
		s.want("a:1", "a:2,3")
		one.wantResult()
		two.wantWaiting()
		s.answer(1)
		two.wantResult()
		three.wantResult()
	})
	story("a batch takes all free keys", t, config{RoundTrips: 1}, func(t *testing.T, s *server, q *queue) {
		for i, key := range []string{"a", "b", "c", "b", "a"} {
			do(t, t.Context(), q, key, i)
		}
		s.want("a:0")
		s.answer(0)
		s.want("a:0", "b:1,3 c:2 a:4")
		s.answer(1)
	})
	story("at most so many round trips", t, config{RoundTrips: 2}, func(t *testing.T, s *server, q *queue) {
		for i, key := range []string{"a", "b", "c", "d"} {
			do(t, t.Context(), q, key, i)
		}
		s.want("a:0", "b:1")
		s.answer(1)
		s.want("a:0", "b:1", "c:2 d:3")
		do(t, t.Context(), q, "e", 4)
		s.answer(0)
		s.want("a:0", "b:1", "c:2 d:3", "e:4")
		s.answer(2)
		s.answer(3)
		do(t, t.Context(), q, "f", 5)
		do(t, t.Context(), q, "g", 6)
		s.want("a:0", "b:1", "c:2 d:3", "e:4", "f:5", "g:6")
		s.answer(4)
		s.answer(5)
	})
	story("a key is under way in half of the round trips", t, config{RoundTrips: 4}, func(t *testing.T, s *server, q *queue) {
		for i, key := range []string{"a", "a", "a", "b", "a"} {
			do(t, t.Context(), q, key, i)
		}
		s.want("a:0", "a:1", "b:3")
		s.answer(1)
		s.want("a:0", "a:1", "b:3", "a:2,4")
		s.answer(0)
		five := do(t, t.Context(), q, "a", 5)
		s.want("a:0", "a:1", "b:3", "a:2,4", "a:5")
		for _, i := range []int{2, 3, 4} {
			s.answer(i)
		}
		five.wantResult()
	})
	story("no key is under way twice", t, config{RoundTrips: 3}, func(t *testing.T, s *server, q *queue) {
		for i, key := range []string{"a", "a", "b"} {
			do(t, t.Context(), q, key, i)
		}
		s.want("a:0", "b:2")
		s.answer(1)
		do(t, t.Context(), q, "b", 3)
		s.want("a:0", "b:2", "b:3")
		s.answer(0)
		s.want("a:0", "b:2", "b:3", "a:1")
		s.answer(2)
		s.answer(3)
	})
}

func TestBounds(t *testing.T) {
	t.Parallel()
	story("keys", t, config{RoundTrips: 1, MaxKeys: 2}, func(t *testing.T, s *server, q *queue) {
		for i, key := range []string{"a", "b", "c", "d", "b"} {
			do(t, t.Context(), q, key, i)
		}
		s.answer(0)
		s.answer(1)
		s.want("a:0", "b:1,4 c:2", "d:3")
		s.answer(2)
	})
	story("calls", t, config{RoundTrips: 1, MaxCalls: 3}, func(t *testing.T, s *server, q *queue) {
		for i, key := range []string{"x", "a", "a", "b", "b", "c"} {
			do(t, t.Context(), q, key, i)
		}
		s.answer(0)
		s.answer(1)
		s.want("x:0", "a:1,2 b:3", "c:5 b:4")
		s.answer(2)
	})
	story("calls that do not fit leave at once in another batch", t, config{RoundTrips: 2, MaxCalls: 2}, func(t *testing.T, s *server, q *queue) {
		for i, key := range []string{"x", "y", "a", "b"} {
			do(t, t.Context(), q, key, i)
		}
		s.answer(0)
		s.answer(1)
		for i, key := range []string{"a", "b", "a", "b"} {
			do(t, t.Context(), q, key, 4+i)
		}
		s.want("x:0", "y:1", "a:2 b:3")
		s.answer(2)
		synctest.Wait()
		if got := []string{s.trips[3].batch, s.trips[4].batch}; got[0] == got[1] || got[0] != "a:4,6" && got[0] != "b:5,7" {
			t.Errorf("sent %q, want a:4,6 and b:5,7", got)
		}
		s.answer(3)
		s.answer(4)
	})
	story("a negative bound is the default", t, config{RoundTrips: -1, MaxKeys: -1, MaxCalls: -1}, func(t *testing.T, s *server, q *queue) {
		one := do(t, t.Context(), q, "a", 1)
		s.answer(0)
		one.wantResult()
	})
}

// TestFairness: the calls of one key fill every batch. Other keys are served, too.
func TestFairness(t *testing.T) {
	t.Parallel()
	story("keys take turns", t, config{RoundTrips: 1, MaxKeys: 1, MaxCalls: 1}, func(t *testing.T, s *server, q *queue) {
		for i, key := range []string{"hot", "hot", "hot", "hot", "b", "c", "b"} {
			do(t, t.Context(), q, key, i)
		}
		for i := range 7 {
			s.answer(i)
		}
		s.want("hot:0", "b:4", "c:5", "hot:1", "b:6", "hot:2", "hot:3")
	})
}

func TestFailure(t *testing.T) {
	t.Parallel()
	story("reaches its own callers alone", t, config{RoundTrips: 2}, func(t *testing.T, s *server, q *queue) {
		fails := func() error { return errServer }
		one, two := do(t, t.Context(), q, "a", 1), do(t, t.Context(), q, "b", 2)
		three, four := do(t, t.Context(), q, "a", 3), do(t, t.Context(), q, "c", 4)
		s.replyTo(1, fails)
		two.wantError(errServer, true)
		one.wantWaiting()
		three.wantWaiting()
		s.answer(2)
		four.wantResult()
		s.answer(0)
		one.wantResult()
		five := do(t, t.Context(), q, "a", 5)
		s.replyTo(3, fails)
		three.wantError(errServer, true)
		s.answer(4)
		five.wantResult()
	})
}
