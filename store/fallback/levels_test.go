package fallback_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// The local store names the refusing level with that level's own limit. The strictest of
// the levels' policies applies.
func TestLevelsWithoutThePrimary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		p.set(errAway, 0)
		s := open(t, fallback.Config{Primary: p, Replicas: 2, Grace: time.Minute, Policies: map[string]fallback.Policy{
			"open": fallback.Open, "closed": fallback.Closed, "grace": fallback.LocalThenClosed,
		}})
		// Both shares are 2, of different limits.
		user, org := store.Per(4, time.Hour), store.Per(5, time.Hour)
		ask := func(scopes ...string) (store.Decision, error) {
			req := store.Request{Charges: []store.Charge{
				{Scope: scopes[0], Key: "ann " + scopes[0], Limit: user, Cost: 1}, {Scope: scopes[1], Key: "acme", Limit: org, Cost: 1},
			}}
			return s.Take(context.Background(), req)
		}
		for range 2 {
			if d, err := ask("user", "org"); !d.Allowed || !d.Degraded || err != nil {
				t.Fatalf("%+v, %v", d, err)
			}
		}
		if d, err := ask("another", "org"); d.Allowed || d.Scope != "org" || d.Limit != org || err != nil {
			t.Errorf("%+v, %v, want org to refuse", d, err)
		}
		if d, err := ask("user", "other"); d.Allowed || d.Scope != "user" || d.Limit != user || err != nil {
			t.Errorf("%+v, %v, want user to refuse", d, err)
		}
		if d, err := ask("open", "org"); d.Allowed || err != nil {
			t.Errorf("open within local: %+v, %v", d, err)
		}
		if _, err := ask("user", "closed"); !errors.Is(err, fallback.ErrAway) {
			t.Errorf("local within closed: %v", err)
		}
		if d, err := ask("open", "open"); !d.Allowed || d.Scope != "open" || err != nil {
			t.Errorf("open: %+v, %v", d, err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := ask("open", "grace"); !errors.Is(err, fallback.ErrAway) {
			t.Errorf("open within local for a while: %v", err)
		}
		synctest.Wait()
	})
}
