package leasestore_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/leasestore"
	"github.com/goweir/weir/store/redisstore"
)

// TestOverRedis: four stores with clients of their own never take more of a key than the
// limit, and in the end nearly all. A bucket can't take every unit back if others were taken
// since.
func TestOverRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		l := store.Per(20_000, 100*24*time.Hour).By(a)
		if a == store.SlidingWindow {
			l.Rate = 2000 // each unit takes a call of its own
		}
		t.Run(a.String(), func(t *testing.T) {
			var admitted, calls atomic.Int64
			var all sync.WaitGroup
			for range 4 {
				inner, err := redisstore.New(redisstore.Config{Client: server.Client()})
				if err != nil {
					t.Fatal(err)
				}
				s := open(t, leasestore.Config{Store: inner, For: 50 * time.Millisecond})
				defer done(t, s)
				for range 16 {
					all.Go(func() {
						for admitted.Load() < l.Rate && calls.Add(1) < 200_000 {
							if take(t, s, charge(a.String(), 1, l)).Allowed {
								admitted.Add(1)
							}
						}
					})
				}
			}
			all.Wait()
			if n := admitted.Load(); n > l.Rate || n < l.Rate*99/100 {
				t.Errorf("%d admitted of %d", n, l.Rate)
			}
		})
	}
}

// TestLapsingFleetOverRedis: four stores with clients of their own never admit more of a
// key than its limit, with lapsing units.
func TestLapsingFleetOverRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const burst, rate = 500, 2000
	l := store.Per(rate, time.Second).WithBurst(burst)
	var admitted atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for range 4 {
		inner, err := redisstore.New(redisstore.Config{Client: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, leasestore.Config{Store: inner, For: 100 * time.Millisecond})
		defer done(t, s)
		for g := range 16 {
			all.Go(func() {
				cost := int64(1 + g%3)
				for range 300 {
					if take(t, s, charge("k", cost, l)).Allowed {
						admitted.Add(cost)
					}
				}
			})
		}
	}
	all.Wait()
	most := burst + int64(time.Since(begin)*rate/time.Second) + 1
	if n := admitted.Load(); n > most || n < burst {
		t.Errorf("%d admitted of %d", n, most)
	}
}
