package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// planTable is a database of plans that takes half a second to answer.
type planTable struct {
	plan  atomic.Value // of string; "": the database is away
	asked atomic.Int64
}

var errDown = errors.New("the database is away")

func (d *planTable) lookup(ctx context.Context, _ string) (string, error) {
	d.asked.Add(1)
	plan := d.plan.Load().(string)
	select {
	case <-time.After(time.Second / 2):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if plan == "" {
		return "", errDown
	}
	return plan, nil
}

func TestPlanCache(t *testing.T) {
	t.Parallel()
	want := func(t *testing.T, c *planCache, plan string, took time.Duration) {
		t.Helper()
		began := time.Now()
		got, err := c.plan(t.Context(), "ann")
		if got != plan || (err == nil) != (plan != "") || time.Since(began) != took {
			t.Errorf("%q, %v after %v; want %q after %v", got, err, time.Since(began), plan, took)
		}
	}
	const lookup = time.Second / 2
	for _, c := range []struct {
		name    string
		lookups int64
		play    func(t *testing.T, d *planTable, c *planCache)
	}{
		{"a plan is kept for the TTL", 2, func(t *testing.T, d *planTable, c *planCache) {
			want(t, c, "free", lookup)
			d.plan.Store("pro")
			time.Sleep(planTTL - time.Nanosecond)
			want(t, c, "free", 0)
			time.Sleep(time.Nanosecond)
			want(t, c, "pro", lookup)
		}},
		{"requests share a lookup", 1, func(t *testing.T, _ *planTable, c *planCache) {
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() { want(t, c, "free", lookup) })
			}
			all.Wait()
		}},
		{"a request that leaves fails no other", 1, func(t *testing.T, _ *planTable, c *planCache) {
			ctx, leave := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() { _, _ = c.plan(ctx, "ann") })
			synctest.Wait()
			all.Go(func() { want(t, c, "free", lookup) })
			leave()
			all.Wait()
		}},
		{"a changed plan is looked up", 2, func(t *testing.T, d *planTable, c *planCache) {
			want(t, c, "free", lookup)
			d.plan.Store("pro")
			c.forget("ann")
			want(t, c, "pro", lookup)
		}},
		{"a lookup from before a change is not kept", 2, func(t *testing.T, d *planTable, c *planCache) {
			var all sync.WaitGroup
			all.Go(func() { want(t, c, "free", lookup) })
			synctest.Wait()
			d.plan.Store("pro")
			c.forget("ann")
			want(t, c, "pro", lookup)
			all.Wait()
			want(t, c, "pro", 0)
		}},
		{"the last plan outlives an outage", 3, func(t *testing.T, d *planTable, c *planCache) {
			want(t, c, "free", lookup)
			d.plan.Store("")
			time.Sleep(planTTL)
			want(t, c, "free", lookup)
			want(t, c, "free", 0)
			time.Sleep(planRetry)
			d.plan.Store("pro")
			want(t, c, "pro", lookup)
		}},
		{"an unknown customer in an outage is an error", 2, func(t *testing.T, d *planTable, c *planCache) {
			d.plan.Store("")
			want(t, c, "", lookup)
			want(t, c, "", lookup)
		}},
		{"the number of plans is bounded", maxPlans + 100, func(t *testing.T, _ *planTable, c *planCache) {
			for i := range maxPlans + 100 {
				if _, err := c.plan(t.Context(), strconv.Itoa(i)); err != nil {
					t.Fatal(err)
				}
			}
			if len(c.kept) != maxPlans {
				t.Errorf("%d plans are kept", len(c.kept))
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &planTable{}
				d.plan.Store("free")
				c.play(t, d, &planCache{lookup: d.lookup, kept: make(map[string]keptPlan)})
				if got := d.asked.Load(); got != c.lookups {
					t.Errorf("%d lookups, want %d", got, c.lookups)
				}
			})
		})
	}
}
