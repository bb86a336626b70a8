package fallback_test

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// heap returns the bytes in use after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// heldPerKey returns a store's bytes for each of n keys of 12 bytes.
func heldPerKey(t testing.TB, s store.Store, l store.Limit, n int) float64 {
	t.Helper()
	ask := func(from, to int) {
		var wg sync.WaitGroup
		for c := range 64 {
			wg.Go(func() {
				for i := from + c; i < to; i += 64 {
					take(t, s, charge(fmt.Sprintf("user%08d", i), 1, l))
				}
			})
		}
		wg.Wait()
	}
	ask(0, 1000) // connections, buffers and pools
	before := heap()
	ask(1000, 1000+n)
	time.Sleep(100 * time.Millisecond)
	grown := heap() - before
	runtime.KeepAlive(s)
	return float64(grown) / float64(n)
}

// A process remembers a key in 120 bytes while Redis is well.
func TestBytesPerKey(t *testing.T) {
	const keys, most = 100_000, 120
	if os.Getenv("WEIR_MEASURE") != "1" {
		long.Only(t)
	}
	// A connection has 64 KiB. On a busy machine a pool closes most of them meanwhile.
	few := func(o *redis.Options) { o.PoolSize = 4 }
	for _, l := range every(1000, 24*time.Hour) {
		t.Run(l.Algorithm.String(), func(t *testing.T) {
			f := newFleet(t, 1, 0, fallback.Config{Budget: patient}, few)
			f.admin = f.server.Client(patientClient, few)
			f.recover()
			alone, behind := heldPerKey(t, f.direct(), l, keys), heldPerKey(t, f.stores[0], l, keys)
			fmt.Printf("| %v | %.0f B behind fallback, %.0f B redisstore alone |\n", l.Algorithm, behind, alone)
			// A map that has just grown is half empty. The runtime's noise is 3 %.
			if behind-alone > most*1.03 {
				t.Errorf("%v: %.0f bytes for each of %d keys, and %.0f without the fallback, want at most %d", l.Algorithm, behind, keys, alone, most)
			}
		})
	}
}
