package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// TestRoundTrips: as many calls leave at once as RoundTrips says. The rest leave together.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	const calls = 10
	for _, tc := range []struct {
		name              string
		trips             int
		atOnce, afterward int64
	}{
		{"the default", 0, 3, 1},
		{"one", 1, 1, 1},
		{"eight", 8, 8, 1},
		{"more than there are calls", maxRoundTrips, calls, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, c := miniClient(t)
			g := new(gate)
			c.AddHook(g)
			s, err := New(Config{Client: c, RoundTrips: tc.trips})
			if err != nil {
				t.Fatal(err)
			}
			take(t, s, charge("first", 1, store.Per(5, time.Hour)))
			g.commands.Store(0)
			_, open := g.shut()
			defer open()
			var reqs []store.Request
			for i := range calls {
				reqs = append(reqs, charge(fmt.Sprint("key", i), 1, store.Per(5, time.Hour)))
			}
			all := startAll(t, s, reqs...)
			g.hold(t, tc.atOnce)
			open()
			for _, st := range all {
				<-st.Done()
				if d, done, err := st.Decision(); err != nil || !done || !d.Allowed {
					t.Errorf("%+v, %t, %v", d, done, err)
				}
			}
			if n := g.commands.Load(); n != tc.atOnce+tc.afterward {
				t.Errorf("%d commands, want %d", n, tc.atOnce+tc.afterward)
			}
		})
	}
}
