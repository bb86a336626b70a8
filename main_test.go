package weir_test

import (
	"context"
	"log"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // Many tests wait for minutes.
	log.SetOutput(os.Stderr)                       // SetDefault changed it, too
	leaktest.Main(m)
}

// gcraStore decides by GCRA in whole nanoseconds and remembers its grants. It looks at
// the first charge only. Delays and faults are set before it is used.
type gcraStore struct {
	before func(call int) time.Duration // on the way to the decision; ends with ctx
	after  func(call int) time.Duration // on the way back; ignores ctx
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

// grant is a slot, and the facts that Cancel needs to take it back.
type grant struct {
	key       string
	cost      int64
	id        any       // of the call, from its context
	at        time.Time // by the store
	reply     time.Time // the latest time at which the decision was on its way back
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
		d.Reason, d.RetryAfter = weir.ReasonNeverFits, store.Never
		return d, nil
	case delay > req.MaxWait:
		d.Reason, d.RetryAfter = weir.ReasonLimited, delay
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

// check compares the counts of the store, and fails if the limiter keeps anything of
// waiting calls. It is called in a bubble.
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
	cfg := weir.Config{Name: "api", Store: s, Limits: []weir.Limit{weir.PerSecond(100).WithBurst(1)}}
	for _, f := range change {
		f(&cfg)
	}
	l, err := weir.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// heldStore is a local store a network away. It counts its calls.
type heldStore struct {
	*localstore.Store
	trip  time.Duration          // there and back
	fault func(op string) error  // after the store has done it; nil: none
	away  func(op string) error  // before
	each  func(d store.Decision) // of each decision
	mu    sync.Mutex
	calls map[string]int
	ids   map[string]bool
}

func newHeldStore(tb testing.TB) *heldStore {
	tb.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return &heldStore{Store: s, trip: time.Millisecond, calls: map[string]int{}, ids: map[string]bool{}}
}

func (s *heldStore) call(op string, do func() error) error {
	s.mu.Lock()
	s.calls[op]++
	s.mu.Unlock()
	time.Sleep(s.trip / 2)
	if s.away != nil {
		if err := s.away(op); err != nil {
			return err
		}
	}
	err := do()
	time.Sleep(s.trip / 2)
	if s.fault != nil && err == nil {
		err = s.fault(op)
	}
	return err
}

func (s *heldStore) Take(ctx context.Context, req store.Request) (d store.Decision, err error) {
	req.Charges = slices.Clone(req.Charges)
	err = s.call("take", func() error {
		s.mu.Lock()
		if req.Hold.Asked() {
			s.ids[req.Hold.ID] = true
		}
		s.mu.Unlock()
		d, err = s.Store.Take(context.WithoutCancel(ctx), req)
		if s.each != nil {
			s.each(d)
		}
		return err
	})
	if err != nil {
		return store.Decision{}, err
	}
	return d, ctx.Err()
}

func (s *heldStore) Cancel(ctx context.Context, receipt any) error {
	return s.call("cancel", func() error { return s.Store.Cancel(ctx, receipt) })
}

func (s *heldStore) Release(ctx context.Context, scope, key string, ids ...string) error {
	return s.call("release", func() error { return s.Store.Release(ctx, scope, key, ids...) })
}

func (s *heldStore) Renew(ctx context.Context, scope, key string, lease time.Duration, ids ...string) (lost []string, err error) {
	err = s.call("renew", func() error {
		lost, err = s.Store.Renew(ctx, scope, key, lease, ids...)
		return err
	})
	return lost, err
}

func (s *heldStore) count(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// wantHeld fails the test unless the store counts n leases of a key.
func (s *heldStore) wantHeld(t *testing.T, key string, n int64) {
	t.Helper()
	probe := func(most int64) store.Decision {
		d, err := s.Store.Take(context.Background(), store.Request{
			Charges: []store.Charge{{Scope: "api", Key: key, Limit: store.Per(1, time.Second)}},
			Hold:    store.Hold{Max: most, ID: "probe", Lease: time.Second},
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if n > 0 && probe(n).Allowed {
		t.Errorf("fewer than %d leases of %q", n, key)
	}
	if d := probe(n + 1); !d.Allowed {
		t.Errorf("more than %d leases of %q", n, key)
	}
	_ = s.Store.Release(context.Background(), "api", key, "probe")
}

// plenty is a limit that refuses no call of these tests.
var plenty = weir.PerSecond(1_000_000)

func newFlightLimiter(tb testing.TB, s weir.Store, most int64, change ...func(*weir.Config)) *weir.Limiter {
	tb.Helper()
	return newLimiter(tb, s, append([]func(*weir.Config){func(c *weir.Config) {
		c.Limits, c.InFlight = []weir.Limit{plenty}, most
	}}, change...)...)
}

func acquire(t *testing.T, l *weir.Limiter, key string) *weir.Lease {
	t.Helper()
	lease, err := l.Acquire(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// noFlights fails the test when the limiter keeps anything.
func noFlights(t *testing.T, l *weir.Limiter) {
	t.Helper()
	time.Sleep(100 * ms) // for the last release
	if keys, beats := l.Flights(); keys != 0 || beats {
		t.Errorf("%d keys are left, the heartbeat runs: %v", keys, beats)
	}
	nothingLeft(t, l)
}

// bound is the bound of a wait that a refused call would have passed.
type bound int

const (
	boundNone bound = iota
	boundMaxWait
	boundDeadline
)

func boundOf(e *weir.LimitedError) (b bound) {
	if e.MaxWait > 0 {
		b = boundMaxWait
	}
	if e.PastDeadline {
		b += boundDeadline
	}
	return b
}
