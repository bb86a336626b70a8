package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// A server whose clock steps back, after a failover or a correction, must not
// block a key for longer than its limit could.
func TestClockStepsBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, sleep := newStill(t, server.Client(), "")
	sleep(24 * 365 * time.Hour)
	for i, back := range []time.Duration{time.Millisecond, 700 * time.Millisecond, time.Hour, 20 * 365 * time.Hour} {
		for _, l := range every(5, time.Second) {
			for _, wait := range []time.Duration{0, 10 * time.Second} {
				key := fmt.Sprint(l.Algorithm, i, wait)
				for range 12 {
					req := charge(key, 1, l)
					req.MaxWait = wait
					take(t, s, req)
				}
				sleep(-back)
				longest := 2*l.Period + wait
				var waited time.Duration
				for {
					d := take(t, s, charge(key, 1, l))
					if d.Allowed {
						break
					}
					if waited += 10 * time.Millisecond; waited > longest {
						t.Errorf("%v: %v after the clock stepped back by %v: %+v", l.Algorithm, waited, back, d)
						break
					}
					sleep(10 * time.Millisecond)
				}
				sleep(back)
			}
		}
	}
}

func TestReservationsInAWholeMicrosecondDoNotAddUp(t *testing.T) {
	t.Parallel()
	_, c := miniClient(t)
	s, _ := newStill(t, c, "")
	l := store.Per(100_000_000, time.Second).WithBurst(1)
	for i := range int64(1000) {
		req := charge("key", 1, l)
		req.MaxWait = time.Second
		d := take(t, s, req)
		if want := time.Duration(i*10+999) / time.Microsecond * time.Microsecond; d.Delay != want {
			t.Fatalf("slot %d: delay %v, want %v", i, d.Delay, want)
		}
	}
}
