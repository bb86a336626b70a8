package fallback_test

import (
	"context"
	"testing"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// denier is a primary that remembers a refusal of one key.
type denier struct {
	*primary
	key string
}

func (d denier) Start(_ context.Context, _ store.Store, req *store.Request) store.Started {
	if req.Charges[0].Key != d.key {
		return nil
	}
	return denial{}
}

// denial is a decision that is there at once.
type denial struct{}

func (denial) Done() <-chan struct{} {
	done := make(chan struct{}, 1)
	done <- struct{}{}
	return done
}

func (denial) Decision() (store.Decision, bool, error) {
	return store.Decision{Reason: store.ReasonLimited, RetryAfter: time.Second, Source: store.SourceDenyCache}, true, nil
}

func (denial) Leave() bool { return false }

// A remembered refusal costs no call of the primary; other keys do. While the primary is
// away, its memory does not count.
func TestDeniedCallsAskNobody(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	s := open(t, fallback.Config{Primary: denier{p, "denied"}, Probe: time.Hour})
	limit := store.Per(1000, time.Second)
	for range 10 {
		if d := take(t, s, charge("denied", 1, limit)); d.Allowed || d.Degraded || d.RetryAfter != time.Second {
			t.Fatalf("%+v, want the primary's refusal", d)
		}
	}
	if n := p.calls.Load(); n != 0 {
		t.Errorf("the primary was asked %d times", n)
	}
	if d := take(t, s, charge("other", 1, limit)); !d.Allowed || p.calls.Load() != 1 {
		t.Errorf("another key: %+v, and the primary was asked %d times", d, p.calls.Load())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Take(ctx, charge("denied", 1, limit)); err == nil {
		t.Error("no error for a context that has ended")
	}
	p.set(errAway, 0)
	for s.State() != fallback.StateOpen {
		take(t, s, charge("other", 1, limit))
	}
	if d := take(t, s, charge("denied", 1, limit)); !d.Allowed || !d.Degraded {
		t.Errorf("%+v while the primary is away, want the policy's decision", d)
	}
}
