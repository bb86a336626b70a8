package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/goweir/weir"
)

func TestLedgerIsExact(t *testing.T) {
	t.Parallel()
	l := ledger{allowances: []allowance{{2, 5 * time.Second}, {3, time.Minute}}}
	for _, c := range []struct {
		at   time.Duration
		want bool
	}{
		{0, true},
		{time.Second, true},
		{5*time.Second - 1, false}, // refused, and not counted
		{5 * time.Second, true},    // [0s, 5s) no longer holds it
		{6 * time.Second, false},   // the minute is full
		{time.Minute - 1, false},
		{time.Minute, true},
		{time.Minute + 1, false},
		{time.Minute + time.Second, true},
	} {
		if got := l.admit(c.at); got != c.want {
			t.Errorf("at %v: admitted %v, want %v", c.at, got, c.want)
		}
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    time.Duration
		want int
	}{
		{0, 0},
		{1, 25},
		{5 * time.Second, 25},
		{5*time.Second + 1, 50},
		{32 * time.Second, 175},
		{time.Minute, 300},
		{time.Minute + 1, 325},
		{2 * time.Minute, 600},
	} {
		if got := budget(allowances, c.d); got != c.want {
			t.Errorf("budget of %v: %d, want %d", c.d, got, c.want)
		}
	}
	// Where the longer period binds, the shorter one's windows go unused.
	tight := []allowance{{25, 5 * time.Second}, {60, time.Minute}}
	for d, want := range map[time.Duration]int{11 * time.Second: 60, time.Minute: 60, 66 * time.Second: 110} {
		if got := budget(tight, d); got != want {
			t.Errorf("tight budget of %v: %d, want %d", d, got, want)
		}
	}
}

// Whatever the duration, workers that keep their pace use the whole budget.
func TestRunLengthIsFair(t *testing.T) {
	t.Parallel()
	window := allowances[0]
	for _, margin := range []time.Duration{0, 200 * time.Millisecond, 250 * time.Millisecond} {
		for d := shortestRun; d <= longestRun; d += 100 * time.Millisecond {
			length := runLength(d, margin)
			if length < d || length > d+3*time.Second {
				t.Fatalf("a run of %v lasts %v", d, length)
			}
			used := 0
			for at := time.Duration(0); at < length; at += window.period + margin {
				used += window.calls
			}
			if most := budget(allowances, length); used != most {
				t.Errorf("a run of %v with margin %v: %d of %d calls", d, margin, used, most)
			}
		}
	}
	if got := runLength(32*time.Second, 200*time.Millisecond); got != 32*time.Second {
		t.Errorf("the default run lasts %v", got)
	}
}

// Without a margin the workers' limits are what the upstream enforces.
func TestLimitsAreTheAllowances(t *testing.T) {
	t.Parallel()
	for i, l := range limits(0) {
		if a := (allowance{int(l.Rate), l.Period}); a != allowances[i] || l.Algorithm != weir.SlidingWindow {
			t.Errorf("limit %d is %v by %v, want %v", i, l, l.Algorithm, allowances[i])
		}
	}
}

func TestClosestAndPace(t *testing.T) {
	t.Parallel()
	s := time.Second
	for _, c := range []struct {
		arrivals []time.Duration
		closest  time.Duration
		pace     float64
	}{
		{nil, 0, 0},
		{[]time.Duration{1 * s, 1 * s}, 0, 0},
		{[]time.Duration{1 * s, 2 * s, 6 * s}, 5 * s, 0.4},
		{[]time.Duration{1 * s, 2 * s, 6 * s, 6 * s}, 4 * s, 0.4},
		{[]time.Duration{0, 0, 5 * s, 5 * s, 10 * s}, 5 * s, 0.4},
	} {
		t.Run(fmt.Sprint(c.arrivals), func(t *testing.T) {
			t.Parallel()
			if got := closest(c.arrivals, 2); got != c.closest {
				t.Errorf("closest: %v, want %v", got, c.closest)
			}
			if got := pace(c.arrivals, 2); got != c.pace {
				t.Errorf("pace: %v, want %v", got, c.pace)
			}
		})
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	all := sorted([]time.Duration{9, 7, 5, 3, 1}, nil, []time.Duration{10, 8, 6, 4, 2})
	if !slices.Equal(all, []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Errorf("sorted: %v", all)
	}
	for p, want := range map[int]time.Duration{0: 1, 1: 1, 50: 5, 51: 6, 95: 10, 100: 10} {
		if got := percentile(all, p); got != want {
			t.Errorf("p%d: %d, want %d", p, got, want)
		}
	}
	if got := percentile(nil, 95); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
