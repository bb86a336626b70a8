package weir_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

// TestResetFreesThoseWhoWait: whoever waits for a key that is reset books again,
// instead of waiting for the end of a pause that is forgotten.
func TestResetFreesThoseWhoWait(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]time.Duration{"paused": 10 * time.Minute, "limited": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := weirtest.NewStore(localStore(t))
				l := onLocal(t, weir.Config{Store: store, Limits: []weir.Limit{weir.PerMinute(60).WithBurst(1)}, MaxWaiters: 5})
				ctx := t.Context()
				for _, key := range []string{"key", "other"} {
					if pause == 0 {
						if _, err := l.Reserve(ctx, key); err != nil {
							t.Fatal(err)
						}
					} else if err := l.Pause(ctx, key, pause); err != nil {
						t.Fatal(err)
					}
				}
				n := newLine(l)
				for i := range 4 {
					n.join(ctx, i, "key")
				}
				n.join(ctx, 4, "other")
				time.Sleep(500 * ms)
				takes := store.Counts().Takes
				if err := errors.Join(l.Reset(ctx, "key"), l.Reset(ctx, "unused")); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := store.Counts().Takes - takes; got != 4 {
					t.Errorf("the store was asked %d times, want once by each who waits", got)
				}
				n.wg.Wait()
				var ended []time.Duration
				for i := range 4 {
					o, _ := n.get(i)
					ended = append(ended, o.after)
				}
				slices.Sort(ended)
				if fmt.Sprint(ended) != "[500ms 1.5s 2.5s 3.5s]" {
					t.Errorf("admitted after %v, want at the limit's pace from 500ms on", ended)
				}
				n.want(t, 4, max(pause, time.Second), nil)
				nothingLeft(t, l)
			})
		})
	}
}
