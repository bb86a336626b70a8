package fallback_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// hanging answers nothing for a while, and then all calls that still wait.
type hanging struct {
	*primary
	back chan struct{} // closed at the end
}

func (h *hanging) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	select {
	case <-h.back:
		return h.primary.Take(ctx, req)
	case <-time.After(250 * time.Millisecond): // a client's own timeout
		return store.Decision{}, errBroken
	}
}

// A call that waits for a silent Redis gets no slot before those of earlier calls, which were
// decided locally meanwhile.
func TestNoCallOvertakesLocalSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls, gap, spacing = 60, 25 * time.Millisecond, 50 * time.Millisecond
		h := &hanging{newPrimary(t), make(chan struct{})}
		s := open(t, fallback.Config{Primary: h})
		close(h.back)
		meet(t, s)
		begun := time.Now()
		h.back = make(chan struct{})
		time.AfterFunc(700*time.Millisecond, func() { close(h.back) }) // before the breaker opens
		type call struct {
			came, slot time.Duration
			local      bool
		}
		var mu sync.Mutex
		var all []call
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				c := call{came: time.Since(begun)}
				req := charge("k", 1, spaced)
				req.MaxWait, req.Cancelable = time.Hour, true
				d, err := s.Take(t.Context(), req)
				if err != nil || !d.Allowed {
					t.Errorf("%+v, %v", d, err)
				}
				c.slot, c.local = time.Since(begun)+d.Delay, d.Degraded
				mu.Lock()
				defer mu.Unlock()
				all = append(all, c)
			})
			time.Sleep(gap)
		}
		wg.Wait()
		slices.SortFunc(all, func(a, b call) int { return cmp.Compare(a.slot, b.slot) })
		var lastLocal time.Duration // came last of those with a local slot
		for i, c := range all {
			if i > 0 && c.slot < all[i-1].slot+spacing-time.Millisecond {
				t.Errorf("calls leave at %v and %v, %v apart, want %v", all[i-1].slot, c.slot, c.slot-all[i-1].slot, spacing)
			}
			if c.local && c.came < lastLocal {
				t.Errorf("the call of %v leaves after that of %v", c.came, lastLocal)
			}
			lastLocal = max(lastLocal, c.came)
		}
		if !all[0].local || all[len(all)-1].local {
			t.Errorf("the first call is local: %v, the last: %v", all[0].local, all[len(all)-1].local)
		}
	})
}
