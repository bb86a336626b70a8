package fallback_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// A key gets other limits in an outage. The primary learns of all units, also of those
// under the earlier limits.
func TestLimitsChangeInAnOutage(t *testing.T) {
	t.Parallel()
	for _, l := range every(100, time.Hour) {
		for _, known := range []bool{false, true} {
			t.Run(l.Algorithm.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					s := open(t, fallback.Config{Primary: p})
					time.Sleep(10 * time.Minute)
					more := l
					more.Rate = 200
					if meet(t, s); known {
						take(t, s, charge("k", 10, l))
					}
					cycle(t, p, s, func() {
						for range 3 {
							take(t, s, charge("k", 10, l))
							take(t, s, charge("k", 5, more))
						}
					})
					time.Sleep(2 * time.Second)
					most := int64(200 - 45)
					if known {
						most -= 10
					}
					// GCRA gives back a unit in 18 s.
					if left := take(t, p.store, charge("k", 0, more)).Remaining; left > most+1 {
						t.Errorf("%d remaining of 200, want at most %d", left, most)
					}
				})
			})
		}
	}
}

// A key gets other limits in an outage. The primary then has so many units left under the
// earlier ones, or one more: GCRA gives it back.
func TestLimitsChange(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		outage func(t *testing.T, p *primary, s *fallback.Store, l, more store.Limit)
		left   int64
	}{
		"the primary comes back empty": {func(t *testing.T, p *primary, s *fallback.Store, l, more store.Limit) {
			take(t, s, charge("k", 1, l))
			take(t, s, charge("k", 1, more))
			p.forget(t)
		}, 88},
		"a local grant is settled": {func(t *testing.T, _ *primary, s *fallback.Store, l, more store.Limit) {
			req := charge("k", 30, l)
			req.Cancelable = true
			d := take(t, s, req)
			take(t, s, charge("k", 1, more))
			if err := s.Settle(context.Background(), d.Receipt, 10); err != nil {
				t.Error(err)
			}
		}, 79},
	} {
		for _, l := range every(100, 100*time.Hour) {
			t.Run(name+"/"+l.Algorithm.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPrimary(t)
					s := open(t, fallback.Config{Primary: p})
					time.Sleep(10 * time.Minute)
					more := l
					more.Rate = 200
					meet(t, s)
					take(t, s, charge("k", 10, l))
					cycle(t, p, s, func() { tc.outage(t, p, s, l, more) })
					time.Sleep(2 * time.Second)
					if left := take(t, p.store, charge("k", 0, l)).Remaining; left < tc.left || left > tc.left+1 {
						t.Errorf("%d remaining of 100, want %d or %d", left, tc.left, tc.left+1)
					}
				})
			})
		}
	}
}
