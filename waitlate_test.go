package weir_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// tardy is a store that grants one slot a second, whose first reply is late.
type tardy struct {
	granted int
	back    []any
}

func (s *tardy) Take(_ context.Context, req store.Request) (store.Decision, error) {
	n := s.granted
	s.granted++
	d := store.Decision{
		Allowed: true, Limit: req.Charges[0].Limit, Receipt: n,
		At: store.Instant(1_000_000 + n), Delay: time.Second + time.Duration(n)*20*ms,
	}
	if n == 0 {
		time.Sleep(100 * ms)
	}
	return d, nil
}

func (s *tardy) Cancel(_ context.Context, receipt any) error {
	s.back = append(s.back, receipt)
	return nil
}

// TestLateReplies: what is given back is what the store granted last, however
// late the replies were.
func TestLateReplies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &tardy{}
		l := onLocal(t, weir.Config{Store: store, Limits: []weir.Limit{weir.PerSecond(1)}})
		n := newLine(l)
		ctx, cancel := context.WithCancel(t.Context())
		n.join(t.Context(), 0, "key")
		n.join(ctx, 1, "key")
		n.join(ctx, 2, "key")
		time.Sleep(200 * ms)
		cancel()
		n.wg.Wait()
		if len(store.back) != 2 || store.back[0] != 2 || store.back[1] != 1 {
			t.Errorf("%v was given back, want 2 and 1", store.back)
		}
		if o, _ := n.get(1); !errors.Is(o.err, context.Canceled) {
			t.Errorf("%v", o.err)
		}
	})
}
