package combine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPace checks the number of round trips after some have come back.
func TestPace(t *testing.T) {
	t.Parallel()
	const ms, us = time.Millisecond, time.Microsecond
	type trip struct {
		at, took time.Duration
		want     int
	}
	for _, tc := range []struct {
		name        string
		fixed, most int
		trips       []trip
	}{
		{"loopback", 0, 64, []trip{{0, 50 * us, 3}, {ms, 240 * us, 3}}},
		{"a network", 0, 64, []trip{{0, ms, 16}, {ms, 2 * ms, 16}, {2 * ms, 600 * us, 10}}},
		{"a slow network", 0, 64, []trip{{0, 16 * ms, 64}}},
		{"a small pool", 0, 15, []trip{{0, 16 * ms, 15}}},
		{"a pool of one", 0, 1, []trip{{0, 16 * ms, 1}, {ms, 50 * us, 1}}},
		{"a pool of two", 0, 2, []trip{{0, 16 * ms, 2}, {ms, 50 * us, 2}}},
		{"no maximum", 0, 0, []trip{{0, 16 * ms, 3}}},
		{"a fixed number", 7, 64, []trip{{0, 16 * ms, 7}, {ms, 50 * us, 7}}},
		{"a shortest round trip counts for 5 to 10 s", 0, 64, []trip{{0, 50 * us, 3}, {4 * time.Second, 4 * ms, 3}, {6 * time.Second, 4 * ms, 3}, {10*time.Second + ms, 4 * ms, 3}, {16 * time.Second, 4 * ms, 64}}},
		{"after a silence", 0, 64, []trip{{0, 50 * us, 3}, {time.Minute, 4 * ms, 64}}},
	} {
		p, start := newPace(tc.fixed, tc.most), time.Now()
		for _, trip := range tc.trips {
			p.saw(start.Add(trip.at), trip.took)
			if p.trips != trip.want {
				t.Errorf("%s: %d round trips after %v, want %d", tc.name, p.trips, trip.at, trip.want)
			}
		}
	}
}

// TestFailuresTellNoPace: a round trip that fails at once does not count as a short one.
func TestFailuresTellNoPace(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"fails": true, "is short": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var took time.Duration
				var err error
				q := New(Config[string, int]{MaxRoundTrips: 64, Send: func(context.Context, []Group[string, int]) error {
					time.Sleep(took)
					return err
				}})
				do := func() { _, _, _ = q.Do(t.Context(), "key", 1) }
				took = 3 * time.Millisecond
				do()
				if took = 10 * time.Microsecond; fails {
					err = errors.New("refused")
				}
				do()
				want := 50
				if !fails {
					want = DefaultRoundTrips
				}
				if q.pace.trips != want {
					t.Errorf("%d round trips, want %d", q.pace.trips, want)
				}
			})
		})
	}
}
