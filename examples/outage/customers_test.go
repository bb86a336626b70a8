package main

import (
	"testing"
	"time"

	"github.com/goweir/weir"
)

func TestPromise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		limit             weir.Limit
		t                 time.Duration
		outages, replicas int
		budget, promise   int64
	}{
		{"at the start", weir.PerSecond(20), 0, 0, 2, 20, 20},
		{"without an outage", weir.PerSecond(20), 4 * time.Second, 0, 2, 100, 100},
		{"just before a unit", weir.PerSecond(20), 1049 * time.Millisecond, 0, 2, 40, 40},
		{"just after a unit", weir.PerSecond(20), 1050 * time.Millisecond, 0, 2, 41, 41},
		{"one outage, seen by one of two", weir.PerSecond(20), 4 * time.Second, 1, 2, 100, 110},
		{"three outages, seen by two", weir.PerSecond(20), 24 * time.Second, 6, 2, 500, 560},
		{"a burst of its own", weir.PerSecond(20).WithBurst(5), 10 * time.Second, 3, 1, 205, 220},
		{"a burst that can't be shared evenly", weir.PerSecond(7), time.Second, 2, 2, 14, 20},
		{"a burst of less than a unit each", weir.PerSecond(5), time.Second, 8, 8, 10, 18},
		{"slow and long", weir.PerMinute(1), 2 * time.Minute, 1, 1, 3, 4},
		{"fast and long", weir.PerSecond(500), 2 * time.Minute, 0, 1, 60500, 60500},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := budget(c.limit, c.t); got != c.budget {
				t.Errorf("budget %d, want %d", got, c.budget)
			}
			if got := promise(c.limit, c.t, c.outages, c.replicas); got != c.promise {
				t.Errorf("promise %d, want %d", got, c.promise)
			}
		})
	}
}

// At every rate all plans are valid limits. Two customers ask for more than their plan
// has, and one for less.
func TestCustomers(t *testing.T) {
	t.Parallel()
	for rate := lowestRate; rate <= highestRate; rate++ {
		shares := 0
		for _, c := range customers(rate) {
			shares += c.share
			if err := c.plan.Validate(); err != nil {
				t.Errorf("%d: %s: %v", rate, c.name, err)
			}
			if asks := float64(rate*c.share) / 4; (asks > float64(c.plan.Rate)) == (c.name == "max") {
				t.Errorf("%d: %s asks for %v of %d", rate, c.name, asks, c.plan.Rate)
			}
		}
		if shares != 4 {
			t.Errorf("%d: the customers send %d of 4 requests", rate, shares)
		}
	}
	all := customers(200)
	if c, ok := byKey(all, all[1].apiKey); !ok || c.name != all[1].name {
		t.Errorf("the key of pro is that of %q", c.name)
	}
	if c, ok := byKey(all, "invented"); ok {
		t.Errorf("an invented key is that of %q", c.name)
	}
}
