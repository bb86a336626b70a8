package main

import (
	"time"

	"github.com/goweir/weir"
)

// customer is a user of the API, with an API key and a plan.
type customer struct {
	name, apiKey string
	plan         weir.Limit
	share        int // the customer's part of four requests
}

// customers returns the callers. Two ask for more than their plans admit, which shows any
// excess of an outage at once. The third stays within its plan and must not notice any
// outage.
func customers(rate int) []customer {
	n := int64(rate)
	return []customer{
		{"free", "key-of-a-free-customer", weir.PerSecond(n / 10).WithName("free"), 1},
		{"pro", "key-of-a-pro-customer", weir.PerSecond(3 * n / 10).WithName("pro"), 2},
		{"max", "key-of-a-max-customer", weir.PerSecond(n / 2).WithName("max"), 1},
	}
}

// byKey finds the owner of an API key, in place of a database.
func byKey(all []customer, apiKey string) (customer, bool) {
	for _, c := range all {
		if c.apiKey == apiKey {
			return c, true
		}
	}
	return customer{}, false
}

// budget is the maximum that a limit admits in t without an outage: the burst, and the
// rate's units.
func budget(l weir.Limit, t time.Duration) int64 {
	return l.Max() + int64(t)*l.Rate/int64(l.Period)
}

// localBurst is the maximum excess of an outage per replica: the burst of its share of
// the limit, at least one unit.
func localBurst(l weir.Limit, replicas int) int64 {
	return max(1, l.Max()/int64(replicas))
}

// promise is the maximum that may be admitted in t. outages is the sum over all replicas:
// an outage of three replicas counts three times.
func promise(l weir.Limit, t time.Duration, outages, replicas int) int64 {
	return budget(l, t) + int64(outages)*localBurst(l, replicas)
}
