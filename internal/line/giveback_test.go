package line_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/line"
)

// TestEqualSlotsGoBackLatestFirst gives back slots of one instant, booked at one instant, while
// the store is slow: the last booking first, as only the last one is undone exactly.
func TestEqualSlotsGoBackLatestFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var back []any
		lines := line.New(line.Config{Cancel: func(_ context.Context, _ line.ID, receipt any) error {
			time.Sleep(ms)
			back = append(back, receipt)
			return nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		b, id := &bench{start: time.Now()}, line.ID{Key: "k", Cost: 1}
		for i := range 4 {
			c, _ := lines.Enter(id, time.Time{})
			s := b.slot(time.Second, i)
			go func() {
				defer c.Exit()
				c.Wait(ctx, s, time.Time{})
			}()
			synctest.Wait()
		}
		cancel()
		time.Sleep(time.Second)
		synctest.Wait()
		if want := []any{3, 2, 1, 0}; !slices.Equal(back, want) {
			t.Errorf("given back: %v, want %v", back, want)
		}
	})
}
