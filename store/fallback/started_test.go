package fallback_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

// starter is a primary that decides in the background.
type starter struct {
	*primary
	hands bool // hands all calls over to Take
	panic bool // in Start
}

type startedCall struct {
	of   *starter
	done chan struct{}
	seen []store.Seen // copied to the caller's
	to   []store.Seen
	d    store.Decision
	err  error
}

func (s *starter) Start(ctx context.Context, _ store.Store, req *store.Request) store.Started {
	if s.panic {
		panic("boom")
	}
	call, mine := &startedCall{of: s, done: make(chan struct{}, 1)}, *req
	mine.Charges = append([]store.Charge(nil), req.Charges...)
	call.seen, call.to = append([]store.Seen(nil), req.Seen...), req.Seen
	mine.Seen = call.seen
	go func() {
		if !s.hands {
			call.d, call.err = s.primary.Take(ctx, mine)
		}
		call.done <- struct{}{}
	}()
	return call
}

func (c *startedCall) Done() <-chan struct{} { return c.done }
func (c *startedCall) Leave() bool           { return len(c.done) == 0 }
func (c *startedCall) Decision() (store.Decision, bool, error) {
	copy(c.to, c.seen)
	return c.d, !c.of.hands, c.err
}

// TestStarted gives a call in the background the same patience as any other.
func TestStarted(t *testing.T) {
	t.Parallel()
	const patience = 45 * time.Millisecond
	down := errors.New("down")
	for name, c := range map[string]struct {
		starter  starter
		err      error
		after    time.Duration // time that the primary takes
		leave    time.Duration // time until the caller leaves
		want     error
		degraded bool
		took     time.Duration
		failure  bool
	}{
		"answers at once":          {},
		"answers in time":          {after: 20 * time.Millisecond, took: 20 * time.Millisecond},
		"answers too late":         {after: 200 * time.Millisecond, took: patience, degraded: true, failure: true},
		"fails":                    {err: down, degraded: true, failure: true},
		"fails in time":            {err: down, after: 20 * time.Millisecond, took: 20 * time.Millisecond, degraded: true, failure: true},
		"hands over":               {starter: starter{hands: true}, after: 20 * time.Millisecond, took: 20 * time.Millisecond},
		"hands over, and is late":  {starter: starter{hands: true}, after: 200 * time.Millisecond, took: patience, degraded: true, failure: true},
		"panics":                   {starter: starter{panic: true}},
		"the caller leaves":        {after: 20 * time.Millisecond, leave: 10 * time.Millisecond, want: context.DeadlineExceeded, took: 10 * time.Millisecond},
		"the caller leaves a hang": {after: time.Second, leave: 10 * time.Millisecond, want: context.DeadlineExceeded, took: 10 * time.Millisecond, failure: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := c.starter
				p.primary = newPrimary(t)
				s := open(t, fallback.Config{Primary: &p})
				meet(t, s)
				p.set(c.err, c.after)
				ctx := t.Context()
				if c.leave > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.leave)
					defer cancel()
				}
				start := time.Now()
				d, err := s.Take(ctx, charge("k", 1, store.Per(10, time.Hour)))
				if took := time.Since(start); took != c.took || !errors.Is(err, c.want) {
					t.Errorf("%v after %v, want %v after %v", err, took, c.want, c.took)
				}
				if err == nil && (!d.Allowed || d.Degraded != c.degraded || d.Remaining != 9) {
					t.Errorf("%+v", d)
				}
				// After one failure, two more open the breaker.
				for range 2 {
					time.Sleep(60 * time.Millisecond)
					p.set(errBroken, 0)
					take(t, s, charge("k", 1, store.Per(10, time.Hour)))
				}
				if open := s.State() == fallback.StateOpen; open != c.failure {
					t.Errorf("the breaker is %v", s.State())
				}
				p.set(nil, 0)
				time.Sleep(2 * time.Second)
			})
		})
	}
}

// threeInARow returns a store whose breaker opens after three failures in a row. calls
// makes n calls with that outcome of the primary.
func threeInARow(t *testing.T) (p *starter, s *fallback.Store, req store.Request, calls func(n int, err error)) {
	p = &starter{primary: newPrimary(t)}
	s = open(t, fallback.Config{Primary: p, Budget: 4 * time.Second, Probe: time.Second})
	req = charge("k", 1, store.Per(1000, time.Hour))
	meet(t, s)
	return p, s, req, func(n int, err error) {
		p.set(err, 0)
		for range n {
			take(t, s, req)
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// A success between failures keeps the breaker closed. A call that began before an outage
// does not count after it.
func TestBreakerCountsFailuresInARow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, s, req, calls := threeInARow(t)
		down := errors.New("down")
		for range 5 {
			calls(2, down)
			calls(1, nil)
		}
		if s.State() != fallback.StateClosed {
			t.Fatalf("the breaker is %v after no three failures in a row", s.State())
		}
		// Three calls are slow to fail.
		p.set(down, 3*time.Second)
		for range 3 {
			go func() { _, _ = s.Take(context.Background(), req) }()
		}
		synctest.Wait()
		calls(3, down)
		if s.State() != fallback.StateOpen {
			t.Fatalf("the breaker is %v after three failures", s.State())
		}
		p.set(nil, 0)
		time.Sleep(time.Second)
		calls(1, nil) // starts the probe
		synctest.Wait()
		if s.State() != fallback.StateClosed {
			t.Fatalf("the breaker is %v after a probe", s.State())
		}
		time.Sleep(3 * time.Second) // The slow calls fail now.
		synctest.Wait()
		if s.State() != fallback.StateClosed {
			t.Errorf("the breaker is %v: failures from before the outage were counted", s.State())
		}
	})
}

// A success from before an outage does not hide later failures.
func TestSuccessFromBeforeAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, s, req, calls := threeInARow(t)
		down := errors.New("down")
		p.set(nil, 3500*time.Millisecond)
		go func() { _, _ = s.Take(context.Background(), req) }()
		synctest.Wait()
		calls(3, down)
		p.set(nil, 0)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s.State() != fallback.StateClosed {
			t.Fatalf("the breaker is %v after a probe", s.State())
		}
		calls(1, down)
		time.Sleep(3 * time.Second) // The slow call succeeds.
		synctest.Wait()
		calls(10, nil)
		calls(2, down)
		if s.State() != fallback.StateClosed {
			t.Errorf("the breaker is %v after two failures in a row", s.State())
		}
		p.set(nil, 0)
		time.Sleep(10 * time.Second)
	})
}

// around is a store that wraps each call of another.
type around struct {
	*redisstore.Store
	calls int
}

func (a *around) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	a.calls++
	return a.Store.Take(ctx, req)
}

// TestStoreAroundThePrimary embeds a primary with Start. Calls still go through the
// wrapper.
func TestStoreAroundThePrimary(t *testing.T) {
	t.Parallel()
	a := &around{Store: overRedis(t)}
	// No call takes longer on a busy machine.
	s := open(t, fallback.Config{Primary: a, Budget: 5 * time.Second, Probe: 100 * time.Second})
	for range 5 {
		take(t, s, charge("k", 1, store.Per(2, time.Hour)))
	}
	if a.calls != 5 {
		t.Errorf("asked %d times of 5", a.calls)
	}
}

// Tests in different bubbles may share a store.
func TestStoreInTwoBubbles(t *testing.T) {
	t.Parallel()
	s := open(t, fallback.Config{Primary: newPrimary(t)})
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			take(t, s, charge("k", 1, store.Per(10, time.Hour)))
			time.Sleep(time.Second)
		})
	}
}
