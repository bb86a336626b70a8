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

func TestPolicies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		p.set(errAway, 0)
		s := open(t, fallback.Config{Primary: p, Grace: time.Minute, Policies: map[string]fallback.Policy{
			"open": fallback.Open, "closed": fallback.Closed, "grace": fallback.LocalThenClosed,
		}})
		ask := func(scope string) (store.Decision, error) {
			req := charge("k", 1, store.Per(2, time.Hour))
			req.Charges[0].Scope = scope
			return s.Take(context.Background(), req)
		}
		count := func(scope string) (allowed int, last error) {
			for range 10 {
				d, err := ask(scope)
				if want := store.SourceFallback; err == nil && d.Source != want {
					t.Errorf("%q: by %v, want %v", scope, d.Source, want)
				}
				if d.Allowed {
					allowed++
				}
				last = err
			}
			return allowed, last
		}
		if n, err := count(""); n != 2 || err != nil {
			t.Errorf("local: %d allowed, %v", n, err)
		}
		if n, err := count("open"); n != 10 || err != nil {
			t.Errorf("open: %d allowed, %v", n, err)
		}
		if n, err := count("closed"); n != 0 || !errors.Is(err, fallback.ErrAway) || !errors.Is(err, errAway) {
			t.Errorf("closed: %d allowed, %v", n, err)
		}
		if n, err := count("grace"); n != 2 || err != nil {
			t.Errorf("within the grace: %d allowed, %v", n, err)
		}
		time.Sleep(2 * time.Minute)
		if n, err := count("grace"); n != 0 || !errors.Is(err, fallback.ErrAway) {
			t.Errorf("after the grace: %d allowed, %v", n, err)
		}
		synctest.Wait()
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	for field, cfg := range map[string]fallback.Config{
		"Primary":      {Primary: (*fallback.Store)(nil)},
		"Budget":       {Primary: p, Budget: -1},
		"MaxKeys":      {Primary: p, MaxKeys: -1},
		"Probe":        {Primary: p, Probe: -1},
		"Replicas":     {Primary: p, Replicas: -1},
		"ReplicasFunc": {Primary: p, Replicas: 2, ReplicasFunc: func() int { return 2 }},
		"Policy":       {Primary: p, Policy: 9},
		"Grace":        {Primary: p, Policy: fallback.LocalThenClosed},
	} {
		t.Run(field, func(t *testing.T) {
			_, err := fallback.New(cfg)
			var ce *store.ConfigError
			if !errors.As(err, &ce) || ce.Field != "fallback.Config."+field {
				t.Errorf("got %v", err)
			}
		})
	}
}
