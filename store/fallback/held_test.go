package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

func hold(key, id string, most int64) store.Request {
	req := charge(key, 1, store.Per(1_000_000, time.Second))
	req.Hold = store.Hold{Max: most, ID: id, Lease: 10 * time.Second}
	return req
}

// leases counts the leases of a key in a store, up to 20.
func leases(t testing.TB, s interface {
	store.Store
	store.Holder
}, key string) (n int64) {
	t.Helper()
	for n = 0; n < 20; n++ {
		req := hold(key, "probe", n+1)
		req.Charges[0].Cost = 0
		if take(t, s, req).Allowed {
			break
		}
	}
	if err := s.Release(context.Background(), "", key, "probe"); err != nil {
		t.Fatal(err)
	}
	return n
}

// outage opens the breaker.
func outage(t testing.TB, s *fallback.Store, p *primary) {
	t.Helper()
	p.set(errAway, 0)
	for range 3 {
		take(t, s, charge("other", 1, store.Per(1000, time.Second)))
	}
	if s.State() != fallback.StateOpen {
		t.Fatal("the breaker is not open")
	}
}

// back closes the breaker.
func back(t testing.TB, s *fallback.Store, p *primary) {
	t.Helper()
	p.set(nil, 0)
	time.Sleep(2 * time.Second)
	take(t, s, charge("other", 1, store.Per(1000, time.Second)))
	time.Sleep(time.Millisecond)
	take(t, s, charge("other", 1, store.Per(1000, time.Second)))
	if s.State() != fallback.StateClosed {
		t.Fatal("the breaker is not closed")
	}
}

// While the primary is away, each process has its share of the calls in flight. Its
// earlier calls count in the share. Afterwards all calls count in the primary again.
func TestCallsInFlightInAnOutage(t *testing.T) {
	t.Parallel()
	for _, forgets := range []bool{false, true} {
		t.Run(fmt.Sprint("the primary forgets ", forgets), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrimary(t)
				s := open(t, fallback.Config{Primary: p, Replicas: 4})
				ctx := context.Background()
				for _, id := range []string{"a", "b"} {
					if d := take(t, s, hold("k", id, 12)); !d.Allowed {
						t.Fatalf("%+v", d)
					}
				}
				outage(t, s, p)
				d := take(t, s, hold("k", "c", 12))
				if !d.Allowed || !d.Degraded {
					t.Errorf("the third of a share of three: %+v", d)
				}
				if d := take(t, s, hold("k", "d", 12)); d.Allowed || d.Reason != store.ReasonInFlight || !d.Degraded {
					t.Errorf("the fourth of a share of three: %+v", d)
				}
				if d := take(t, s, hold("at least one", "a", 2)); !d.Allowed {
					t.Errorf("a share of half a call: %+v", d)
				}
				if err := s.Release(ctx, "", "k", "a"); !errors.Is(err, errAway) {
					t.Errorf("released in an outage: %v, want the primary's error", err)
				}
				for range 5 {
					time.Sleep(4 * time.Second)
					if lost, err := s.Renew(ctx, "", "k", 10*time.Second, "b", "c", "x"); fmt.Sprint(lost) != "[x]" || err != nil {
						t.Errorf("renewed in an outage: lost %v, %v, want x", lost, err)
					}
				}
				if d := take(t, s, hold("k", "d", 12)); !d.Allowed {
					t.Errorf("a call has ended: %+v", d)
				}
				if forgets {
					p.forget(t)
				}
				back(t, s, p)
				if lost, err := s.Renew(ctx, "", "k", 10*time.Second, "b", "c", "d", "x"); fmt.Sprint(lost) != "[x]" || err != nil {
					t.Errorf("renewed afterwards: lost %v, %v, want x", lost, err)
				}
				main, _, _ := p.now()
				if n := leases(t, main, "k"); n != 3 {
					t.Errorf("the primary knows %d leases, want 3", n)
				}
				if err := s.Release(ctx, "", "k", "b", "c", "d"); err != nil {
					t.Error(err)
				}
				if n := leases(t, main, "k"); n != 0 {
					t.Errorf("the primary knows %d leases, want none", n)
				}
			})
		})
	}
}

// The primary gets back the leases of calls that end in an outage: at once after the next
// call, and without calls within a third of Config.Lease. Local calls that begin and end in the
// outage change nothing, before and after these end.
func TestCallsThatEndInAnOutage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, after int // local calls
		wait          time.Duration
	}{
		"the next call ends":      {},
		"no call":                 {wait: 10 * time.Second},
		"many local calls before": {before: 20},
		"many local calls after":  {after: 20},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPrimary(t)
			s := open(t, fallback.Config{Primary: p})
			l, err := weir.New(weir.Config{Store: s, Name: "fly", Limits: []weir.Limit{weir.PerSecond(1000)}, InFlight: 6})
			if err != nil {
				t.Fatal(err)
			}
			acquire := func() *weir.Lease {
				t.Helper()
				lease, err := l.TryAcquire(t.Context(), "k")
				if err != nil {
					t.Error(name, err)
				}
				return lease
			}
			local := func(n int) {
				for range n {
					time.Sleep(time.Millisecond)
					acquire().Release()
				}
				synctest.Wait()
			}
			held := []*weir.Lease{acquire(), acquire(), acquire(), acquire(), acquire()}
			outage(t, s, p)
			local(test.before)
			for _, lease := range held[:4] {
				lease.Release()
			}
			synctest.Wait()
			local(test.after)
			back(t, s, p)
			if time.Sleep(test.wait); test.wait == 0 {
				held[4].Release()
				synctest.Wait()
			}
			for range 4 {
				defer acquire().Release()
			}
			held[4].Release()
		})
	}
}

// mute is a primary that may carry requests out and fail them, as if their answers were lost.
type mute struct {
	*primary
	loses atomic.Bool
}

func (m *mute) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	d, err := m.primary.Take(ctx, req)
	if m.loses.Load() {
		return store.Decision{}, errBroken
	}
	return d, err
}

// A lease comes back if the primary's answer is lost, and this process's share refuses the call.
func TestLeaseWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]weir.Limit{"of leases": weir.PerSecond(1000), "of units": weir.PerHour(4).WithBurst(4)} {
		for _, waits := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				m := &mute{primary: newPrimary(t)}
				s := open(t, fallback.Config{Primary: m, Replicas: 4})
				l, err := weir.New(weir.Config{Store: s, Name: "fly", Limits: []weir.Limit{limit}, InFlight: 4})
				if err != nil {
					t.Fatal(err)
				}
				held, err := l.TryAcquire(t.Context(), "k")
				if err != nil {
					t.Fatal(err)
				}
				m.loses.Store(true)
				if waits {
					ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
					defer cancel()
					_, err = l.Acquire(ctx, "k")
				} else {
					_, err = l.TryAcquire(t.Context(), "k")
				}
				if err == nil {
					t.Errorf("%s: the share has room", name)
				}
				m.loses.Store(false)
				held.Release()
				time.Sleep(time.Second)
				main, _, _ := m.now()
				req := hold("k", "probe", 1)
				req.Charges[0].Scope, req.Charges[0].Cost = "fly", 0
				if !take(t, main, req).Allowed {
					t.Errorf("%s, waits %v: a lease is left", name, waits)
				}
			})
		}
	}
}

// A lease that is granted too late for its call is released.
func TestLateLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		meet(t, s)
		p.set(nil, 70*time.Millisecond)
		if d := take(t, s, hold("k", "a", 5)); !d.Degraded {
			t.Errorf("answered too late: %+v", d)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		if _, err := s.Take(ctx, hold("k", "b", 5)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("its caller has left: %v", err)
		}
		p.set(nil, 0)
		time.Sleep(time.Second)
		main, _, _ := p.now()
		if n := leases(t, main, "k"); n != 0 {
			t.Errorf("%d leases without a call", n)
		}
		// The local decision counts in the share.
		if lost, err := s.Renew(context.Background(), "", "k", 10*time.Second, "a", "b"); fmt.Sprint(lost) != "[b]" || err != nil {
			t.Errorf("lost %v, %v, want b", lost, err)
		}
		if n := leases(t, main, "k"); n != 1 {
			t.Errorf("%d leases, want 1, of the local decision", n)
		}
	})
}

// A lease that is released during its renewal stays released.
func TestReleasedWhileRestored(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{5, 15, 25, 35} {
		synctest.Test(t, func(t *testing.T) {
			p := newPrimary(t)
			s := open(t, fallback.Config{Primary: p})
			ctx := context.Background()
			take(t, s, hold("k", "a", 5))
			p.forget(t)
			p.set(nil, 10*time.Millisecond)
			done := make(chan error)
			go func() {
				_, err := s.Renew(ctx, "", "k", 10*time.Second, "a")
				done <- err
			}()
			time.Sleep(after * time.Millisecond)
			if err := errors.Join(s.Release(ctx, "", "k", "a"), <-done); err != nil {
				t.Error(err)
			}
			main, _, _ := p.now()
			if n := leases(t, main, "k"); n != 0 {
				t.Errorf("released %v ms into a renewal, %d leases remain", int64(after), n)
			}
		})
	}
}

// A primary without leases returns ErrUnsupported, whether or not the primary is away.
func TestStoresThatCannotHold(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, fallback.Config{Primary: struct{ store.Store }{newPrimary(t)}}), t.Context()
	_, take := s.Take(ctx, hold("k", "a", 1))
	_, renew := s.Renew(ctx, "", "k", time.Second, "a")
	for op, err := range map[string]error{"take": take, "renew": renew, "release": s.Release(ctx, "", "k", "a")} {
		if !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%s: %v, want ErrUnsupported", op, err)
		}
	}
}
