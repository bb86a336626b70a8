package combine_test

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestStart(t *testing.T) {
	t.Parallel()
	type key struct{}
	story("a call that leaves at once has its own context", t, config{}, func(t *testing.T, s *server, q *queue) {
		one := q.Start(context.WithValue(t.Context(), key{}, "mine"), "a", call{number: 1})
		s.want("a:1")
		if got := s.ctx(0).Value(key{}); got != "mine" {
			t.Errorf("got %v", got)
		}
		s.answer(0)
		<-one.Done()
		if s.ctx(0).Err() != nil {
			t.Error("the end of the call ended its caller's context")
		}
		if c, err := one.Result(); err != nil || c.double != 2 {
			t.Errorf("got %v, %v", c, err)
		}
	})
	story("alone and in a batch", t, config{}, func(t *testing.T, s *server, q *queue) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		one := q.Start(ctx, "a", call{number: 1})
		two := q.Start(ctx, "a", call{number: 2})
		s.want("a:1")
		if deadline, ok := s.ctx(0).Deadline(); !ok || time.Until(deadline) != time.Second {
			t.Errorf("deadline %v, %t", deadline, ok)
		}
		select {
		case <-one.Done():
			t.Fatal("decided without an answer")
		default:
		}
		s.answer(0)
		<-one.Done()
		if c, err := one.Result(); err != nil || c.double != 2 {
			t.Errorf("got %v, %v", c, err)
		}
		s.want("a:1", "a:2")
		s.replyTo(1, func() error { return errServer })
		<-two.Done()
		if _, err := two.Result(); !errors.Is(err, errServer) {
			t.Errorf("got %v", err)
		}
	})
	story("Leave", t, config{}, func(t *testing.T, s *server, q *queue) {
		one := q.Start(t.Context(), "a", call{number: 1})
		two := q.Start(t.Context(), "a", call{number: 2})
		if left, sent := two.Leave(); !left || sent {
			t.Errorf("unsent: left %t, sent %t", left, sent)
		}
		s.want("a:1")
		three := q.Start(t.Context(), "b", call{number: 3})
		s.answer(1)
		if left, _ := three.Leave(); left {
			t.Error("left a decided call")
		}
		<-three.Done()
		if c, err := three.Result(); err != nil || c.double != 6 {
			t.Errorf("got %v, %v", c, err)
		}
		if left, sent := one.Leave(); !left || !sent {
			t.Errorf("sent: left %t, sent %t", left, sent)
		}
		s.answer(0)
		s.want("a:1", "b:3")
	})
}
