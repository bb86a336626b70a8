package main

import (
	"time"

	"github.com/goweir/weir"
)

// customer is somebody with an API key and a plan.
type customer struct {
	name, apiKey string
	plan         weir.Limit
	share        int // of four requests, so many are this customer's
}

// customers returns who calls. Two ask for more than their plan admits, so that
// whatever an outage adds is seen at once; the third stays within its plan and
// must notice nothing.
func customers(rate int) []customer {
	n := int64(rate)
	return []customer{
		{"free", "key-of-a-free-customer", weir.PerSecond(n / 10).WithName("free"), 1},
		{"pro", "key-of-a-pro-customer", weir.PerSecond(3 * n / 10).WithName("pro"), 2},
		{"max", "key-of-a-max-customer", weir.PerSecond(n / 2).WithName("max"), 1},
	}
}

// byKey finds who an API key belongs to, as a database would.
func byKey(all []customer, apiKey string) (customer, bool) {
	for _, c := range all {
		if c.apiKey == apiKey {
			return c, true
		}
	}
	return customer{}, false
}

// budget is the most that a limit admits in t, with Redis there all the time:
// the burst, and what the rate adds.
func budget(l weir.Limit, t time.Duration) int64 {
	return l.Max() + int64(t)*l.Rate/int64(l.Period)
}

// localBurst is what an outage may add for each replica at most: the burst of
// its share of the limit, which is at least one unit.
func localBurst(l weir.Limit, replicas int) int64 {
	return max(1, l.Max()/int64(replicas))
}

// promise is the most that may be admitted in t. The outages are those of all
// replicas: one that three of them see counts three times.
func promise(l weir.Limit, t time.Duration, outages, replicas int) int64 {
	return budget(l, t) + int64(outages)*localBurst(l, replicas)
}
