package fallback_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/fallback"
)

// Redis has got the units of an outage, and loses them before the next call of their key. The
// process that admitted them restores them.
func TestReportedUnitsOutliveALoss(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, 0, fallback.Config{Budget: patient, Probe: 100 * time.Millisecond})
	f.recover()
	for _, asked := range []bool{false, true} {
		for _, l := range every(100, undisturbed(24*time.Hour)) {
			name, key := l.Algorithm.String(), fmt.Sprint("k", asked)
			limiter, want := f.limiters(name, l)[0], int64(60)
			if asked {
				allow(t, limiter, key)
				want++
			}
			f.proxy.Set(redistest.Refuse)
			f.notice()
			if d, err := limiter.AllowN(context.Background(), key, 60); err != nil || !d.Degraded {
				t.Fatal(d, err)
			}
			f.proxy.Set(f.well)
			f.recover()
			for end := time.Now().Add(10 * time.Second); f.used(name, key, l) < want && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(50 * time.Millisecond) // The process hears of it.
			f.admin.FlushAll(t.Context())
			allow(t, limiter, key)
			if used := f.used(name, key, l); used < want || used > want+1 {
				t.Errorf("%s, asked before the outage %v: %d used, want %d", name, asked, used, want+1)
			}
		}
	}
}
