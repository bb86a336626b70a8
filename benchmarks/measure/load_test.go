package measure

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestPacedCallers(t *testing.T) {
	for _, tc := range []struct {
		name        string
		takes       time.Duration
		least, most int64
	}{
		{"calls come at the pace", 0, 300, 500},
		{"a long call delays the next", 20 * time.Millisecond, 100, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				decide := func(context.Context, string) (bool, error) { time.Sleep(tc.takes); return true, nil }
				o := drive(decide, load{keys: makeKeys(10), callers: 4, lasts: time.Second, every: 10 * time.Millisecond, timed: true})
				if o.allowed < tc.least || o.allowed > tc.most {
					t.Errorf("%d calls, want %d to %d", o.allowed, tc.least, tc.most)
				}
				if o.calls.total != uint64(o.allowed) {
					t.Errorf("%d of %d calls are timed", o.calls.total, o.allowed)
				}
			})
		})
	}
}

func TestLinks(t *testing.T) {
	for _, tc := range []struct {
		link Link
		name string
		// loads is the number of loads of a full run and of a quick one.
		loads, quick int
	}{
		{Link{}, "loopback", 1, 2},
		{Link{RTT: 200 * time.Microsecond}, "RTT 0.2 ms", 2, 2},
		{Link{RTT: 4 * time.Millisecond}, "RTT 4 ms", 4, 2},
		{Link{RTT: 4 * time.Millisecond, Jitter: 0.1}, "RTT 4 ms ± 10 %", 2, 2},
		{Link{RTT: time.Millisecond, TLS: true}, "RTT 1 ms, TLS", 2, 2},
		{Link{RTT: time.Millisecond, Cluster: true}, "RTT 1 ms, cluster", 2, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.link.String(); got != tc.name {
				t.Errorf("%q", got)
			}
			if full, quick := len(loadsOf(&Run{}, tc.link)), len(loadsOf(&Run{Quick: true}, tc.link)); full != tc.loads || quick != tc.quick {
				t.Errorf("%d and %d loads, want %d and %d", full, quick, tc.loads, tc.quick)
			}
		})
	}
}
