package weirtest_test

import (
	"testing"
	"time"

	"github.com/goweir/weir/weirtest"
)

func TestMaxIn(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(ms ...int) (a weirtest.Arrivals) {
		for _, n := range ms {
			a = append(a, weirtest.Arrival{At: start.Add(time.Duration(n) * time.Millisecond)})
		}
		return a
	}
	cases := []struct {
		name     string
		arrivals weirtest.Arrivals
		window   time.Duration
		want     int
	}{
		{"none", nil, time.Second, 0},
		{"one", at(5), time.Nanosecond, 1},
		{"a window of nothing", at(5, 5), 0, 0},
		{"a negative window", at(5, 5), -1, 0},
		{"exactly a window apart", at(0, 1000, 2000), time.Second, 1},
		{"a little less", at(0, 999, 1999), time.Second, 2},
		{"at one instant", at(3, 3, 3), time.Nanosecond, 3},
		{"the fullest is in the middle", at(0, 500, 900, 950, 1400, 3000), time.Second, 4},
		{"the fullest comes last", at(0, 2000, 2001, 2002), time.Second, 3},
		{"longer than everything", at(0, 1, 2), time.Hour, 3},
	}
	for _, tc := range cases {
		if got := tc.arrivals.MaxIn(tc.window); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
	if got := at(0, 1, 2, 3).Between(start.Add(time.Millisecond), start.Add(3*time.Millisecond)); len(got) != 2 {
		t.Errorf("between 1 and 3 are %v, want those at 1 and 2", got)
	}
}

func TestRefusalNames(t *testing.T) {
	t.Parallel()
	for r, want := range map[weirtest.Refusal]string{
		weirtest.NotRefused: "admitted", weirtest.ByLimit: "limit", weirtest.ByInFlight: "in_flight", weirtest.ByCommand: "command", 99: "unknown",
	} {
		if got := r.String(); got != want {
			t.Errorf("%d is %q, want %q", r, got, want)
		}
	}
}
