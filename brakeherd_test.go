package weir_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

// TestManyRefusalsAreOnePause: refusals that come one shortly after the other, of
// requests that were under way together, do not have all who wait book again each
// time.
func TestManyRefusalsAreOnePause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		f := newFleet(t, 1, weirtest.ProviderConfig{Latency: func(*http.Request) time.Duration { return 0 }, Travel: func(*http.Request) time.Duration {
			return 500*time.Millisecond + time.Duration(n.Add(1)*7%20)*time.Millisecond
		}}, weir.PerSecond(100).WithBurst(1))
		go f.send(t, 200, 4*time.Second)
		time.Sleep(2 * time.Second)
		f.provider.RefuseFor(300 * time.Millisecond)
		f.store.mu.Lock()
		before := f.store.takes
		f.store.mu.Unlock()
		time.Sleep(600 * time.Millisecond)
		f.store.mu.Lock()
		takes, refused := f.store.takes-before, f.provider.Counts().Refused()
		f.store.mu.Unlock()
		// 60 go their way, and 200 book again a few times.
		if refused < 20 || takes > 60+10*200 {
			t.Errorf("%d calls of the store when %d were refused, want about 1000", takes, refused)
		}
		time.Sleep(time.Minute)
	})
}
