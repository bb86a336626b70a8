package redisstore

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestCancelledWaitsOfUnlikeCosts: calls of unlike costs wait, and all are cancelled at once.
// Their units come back.
func TestCancelledWaitsOfUnlikeCosts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	st := newStore(t, server.Client())
	var booked, back atomic.Int64
	l, err := weir.New(weir.Config{
		Name: "api", Store: st, Limits: []weir.Limit{weir.Per(60_000, time.Minute)}, MaxWait: 24 * time.Hour,
		Hook: func(_ context.Context, e weir.Event) {
			switch {
			case e.Kind == weir.EventWaitBegin:
				booked.Add(1)
			case e.Kind == weir.EventStoreCall && e.Op == "cancel":
				back.Add(1)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	full := func() store.Instant { // when the bucket is full
		d := take(t, st, store.Request{Charges: []store.Charge{{Scope: "api", Key: "key", Limit: store.Per(60_000, time.Minute)}}})
		return d.At + store.Instant(d.ResetAfter.Microseconds())
	}
	if _, err := l.AllowN(t.Context(), "key", 60_000); err != nil {
		t.Fatal(err)
	}
	before := full()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() { _ = l.WaitN(ctx, "key", 5_000+rand.Int64N(50_000)) })
	}
	for booked.Load() < 60 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	wg.Wait()
	for end := time.Now().Add(10 * time.Second); back.Load() < 60 && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if after := full(); after != before {
		t.Errorf("%d of 60 slots are back; the bucket is full %v later than before", back.Load(), time.Duration(after-before)*time.Microsecond)
	}
}
