package fallback_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// A call restores a key, and another one waits for that. A Reset meanwhile does not hold
// the waiting call up.
func TestResetWhileThePrimaryIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p})
		meet(t, s)
		req := charge("k", 1, store.Per(100, time.Hour))
		take(t, s, req)
		time.Sleep(time.Second)
		p.forget(t)
		p.set(nil, 15*time.Millisecond)
		go func() { _, _ = s.Take(context.Background(), req) }() // restores the key after 15 ms
		time.Sleep(20 * time.Millisecond)
		go func() {
			time.Sleep(2 * time.Millisecond)
			if err := s.Reset(context.Background(), "", "k"); err != nil {
				t.Error(err)
			}
		}()
		start := time.Now()
		if d := take(t, s, req); d.Degraded {
			t.Errorf("decided without the primary after %v", time.Since(start))
		}
		time.Sleep(time.Second)
	})
}
