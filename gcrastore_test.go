package weir_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// gcraStore decides by GCRA in whole nanoseconds and remembers what it
// granted. It looks at the first charge only. Delays and faults are set before
// it is used.
type gcraStore struct {
	before func(call int) time.Duration // on the way to the decision; ends with ctx
	after  func(call int) time.Duration // on the way back; ctx is not looked at
	fault  func(call int) error         // in place of a decision; nil: none
	cancel func(call int) error         // before a slot is given back

	mu        sync.Mutex
	tat       map[string]time.Time
	takes     int
	grants    []*grant
	cancels   int
	inexact   int // cancels of a grant that was not the last
	canceling int
	most      int // cancels at the same time
	misused   []string
}

// grant is a slot and what is needed to take it back.
type grant struct {
	key       string
	cost      int64
	id        any       // of the call, from its context
	at        time.Time // by the store
	reply     time.Time // when the decision was on its way back at the latest
	was, is   time.Time // the key's TAT
	cancelled bool
}

type callID struct{}

func trip(d func(int) time.Duration, call int) <-chan time.Time {
	if d == nil {
		return nil
	}
	return time.After(d(call))
}

func (s *gcraStore) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	s.mu.Lock()
	call := s.takes
	s.takes++
	s.mu.Unlock()
	if s.before != nil {
		select {
		case <-trip(s.before, call):
		case <-ctx.Done():
			return store.Decision{}, ctx.Err()
		}
	}
	if s.fault != nil {
		if err := s.fault(call); err != nil {
			return store.Decision{}, err
		}
	}
	d, g := s.decide(req)
	if s.after != nil {
		<-trip(s.after, call)
	}
	if g != nil {
		s.mu.Lock()
		g.id, g.reply = ctx.Value(callID{}), time.Now()
		s.mu.Unlock()
	}
	return d, nil
}

func (s *gcraStore) decide(req store.Request) (store.Decision, *grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := req.Charges[0]
	interval := c.Limit.Period / time.Duration(c.Limit.Rate)
	burst := time.Duration(c.Limit.Max()) * interval
	now := time.Now()
	was := s.tat[c.Key]
	base := was
	if base.Before(now) {
		base = now
	}
	is := base.Add(time.Duration(c.Cost) * interval)
	d := store.Decision{Limit: c.Limit, Remaining: int64((burst - base.Sub(now)) / interval), ResetAfter: base.Sub(now)}
	delay := max(0, is.Add(-burst).Sub(now))
	switch {
	case c.Cost == 0:
		d.Allowed = true
		return d, nil
	case req.NeverFits() >= 0:
		d.Reason, d.RetryAfter = weir.NeverFits, weir.Never
		return d, nil
	case delay > req.MaxWait:
		d.Reason, d.RetryAfter = weir.Limited, delay
		return d, nil
	}
	g := &grant{key: c.Key, cost: c.Cost, at: now.Add(delay), was: was, is: is}
	if s.tat == nil {
		s.tat = make(map[string]time.Time)
	}
	s.tat[c.Key] = is
	s.grants = append(s.grants, g)
	d.Allowed, d.Delay = true, delay
	d.Remaining = max(0, int64((burst-is.Sub(now))/interval))
	d.ResetAfter = is.Sub(now)
	if req.Cancelable {
		d.Receipt = g
	}
	return d, g
}

func (s *gcraStore) Cancel(ctx context.Context, receipt any) error {
	s.mu.Lock()
	call := s.cancels
	s.cancels++
	s.canceling++
	s.most = max(s.most, s.canceling)
	if ctx.Err() != nil {
		s.misused = append(s.misused, "cancel with a context that is over")
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.canceling--
		s.mu.Unlock()
	}()
	if s.cancel != nil {
		if err := s.cancel(call); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := receipt.(*grant)
	if g.cancelled {
		s.misused = append(s.misused, "cancelled twice")
	}
	g.cancelled = true
	if s.tat[g.key].Equal(g.is) {
		s.tat[g.key] = g.was
	} else {
		s.inexact++
	}
	return nil
}

func (s *gcraStore) Reset(_ context.Context, _, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tat, key)
	return nil
}

// kept returns the grants that were not cancelled.
func (s *gcraStore) kept() []*grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []*grant
	for _, g := range s.grants {
		if !g.cancelled {
			kept = append(kept, g)
		}
	}
	return kept
}

// check compares what the store counted, and that nothing is left of the
// limiter's waiting calls. It is called in a bubble.
func (s *gcraStore) check(t *testing.T, l *weir.Limiter, takes, kept int) {
	t.Helper()
	synctest.Wait() // for the last give-back
	if n := len(s.kept()); n != kept {
		t.Errorf("%d slots are booked, want %d", n, kept)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.takes != takes {
		t.Errorf("%d calls of Take, want %d", s.takes, takes)
	}
	for _, m := range s.misused {
		t.Error(m)
	}
	nothingLeft(t, l)
}

func nothingLeft(t *testing.T, l *weir.Limiter) {
	t.Helper()
	if queues, calls := l.Waiting(); queues != 0 || calls != 0 {
		t.Errorf("%d queues and %d waiting calls are left", queues, calls)
	}
}

// newLimiter returns a limiter of 100 units per second, one at a time.
func newLimiter(tb testing.TB, s weir.Store, change ...func(*weir.Config)) *weir.Limiter {
	tb.Helper()
	cfg := weir.Config{Store: s, Limits: []weir.Limit{weir.PerSecond(100).WithBurst(1)}}
	for _, f := range change {
		f(&cfg)
	}
	l, err := weir.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}
