package fallback_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// slowRestorer is slow for some calls, from the restore of the third key on.
type slowRestorer struct {
	*primary
	calls atomic.Int64
	slow  int64
}

func (p *slowRestorer) Restore(ctx context.Context, m store.Memory) (bool, error) {
	if n := p.calls.Add(1); n >= 3 && n < 3+p.slow {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return p.primary.Restore(ctx, m)
}

// The primary is slow for a moment during restores in the background. All keys are
// restored nonetheless.
func TestSlowMomentWhileRestoring(t *testing.T) {
	t.Parallel()
	for _, slow := range []int64{1, 10} {
		t.Run(fmt.Sprint(slow, " calls"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &slowRestorer{primary: newPrimary(t), slow: slow}
				s := open(t, fallback.Config{Primary: p})
				meet(t, s)
				l := store.Per(100, time.Hour)
				cycle(t, p.primary, s, func() {
					for i := range 20 {
						take(t, s, charge(fmt.Sprint("k", i), 10, l))
					}
				})
				time.Sleep(10 * time.Second)
				if s.State() != fallback.StateClosed {
					t.Errorf("the breaker is %v", s.State())
				}
				for i := range 20 {
					if left := take(t, p.store, charge(fmt.Sprint("k", i), 0, l)).Remaining; left > 91 {
						t.Errorf("key %d: %d remaining of 100, want 90", i, left)
					}
				}
			})
		})
	}
}
