package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// evalTime returns the number of EVALSHA calls, and the server's time for them in
// microseconds.
func evalTime(b testing.TB, c *redis.Client) (calls, us float64) {
	b.Helper()
	info, err := c.Info(context.Background(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:"); ok {
			for field := range strings.SplitSeq(rest, ",") {
				name, text, _ := strings.Cut(field, "=")
				n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
				switch {
				case err != nil:
					b.Fatal(err)
				case name == "calls":
					calls = n
				case name == "usec":
					us = n
				}
			}
		}
	}
	return calls, us
}

// benchmarkServer runs f, and reports the server's time for each of b.N decisions.
func benchmarkServer(b *testing.B, c *redis.Client, f func()) {
	b.Helper()
	b.ReportAllocs()
	_, before := evalTime(b, c)
	b.ResetTimer()
	f()
	b.StopTimer()
	_, after := evalTime(b, c)
	b.ReportMetric((after-before)/float64(b.N), "server-us/op")
}

// BenchmarkServerDecision reports the server's time for one decision in a call of its own.
func BenchmarkServerDecision(b *testing.B) {
	client := redistest.Start(b).Client()
	s := newStore(b, client)
	hour := store.Per(1_000_000, time.Hour)
	minute, day := store.Per(100_000, time.Minute), store.Per(5_000_000, 24*time.Hour)
	for _, of := range []struct {
		name   string
		limits []store.Limit
	}{
		{"1gcra", []store.Limit{hour}},
		{"3gcra", []store.Limit{hour, day, minute}},
		{"2sliding", []store.Limit{minute.By(store.SlidingWindow), hour.By(store.SlidingWindow)}},
		{"3windows", []store.Limit{minute.By(store.FixedWindow), hour.By(store.AlignedWindow), hour.By(store.SlidingCounter)}},
	} {
		// The first limit of narrow admits 5 units; other calls wait or are refused.
		narrow := append([]store.Limit(nil), of.limits...)
		narrow[0].Rate = 5
		for _, c := range []struct {
			name   string
			limits []store.Limit
			first  func(req *store.Request) // of the call before the benchmark
			each   func(req *store.Request, i int)
		}{
			{name: "allow", limits: of.limits},
			{name: "reserve", limits: of.limits, each: func(req *store.Request, _ int) { waitLong(req) }},
			{name: "allow-after-reservation", limits: of.limits, first: waitLong},
			{name: "wait-behind-others", limits: narrow, each: func(req *store.Request, _ int) { waitLong(req) }},
			// The costs differ, so the process refuses no call by itself.
			{name: "refuse", limits: narrow, first: takeAll, each: func(req *store.Request, i int) {
				for j := range req.Charges {
					req.Charges[j].Cost = 1 + int64(i%3)
				}
			}},
		} {
			b.Run(c.name+"/"+of.name, func(b *testing.B) {
				ctx := context.Background()
				if err := client.FlushAll(ctx).Err(); err != nil {
					b.Fatal(err)
				}
				req := charge("key", 1, c.limits...)
				if c.first != nil {
					c.first(&req)
				}
				take(b, s, req)
				benchmarkServer(b, client, func() {
					for i := range b.N {
						req := charge("key", 1, c.limits...)
						if c.each != nil {
							c.each(&req, i)
						}
						d, err := s.Take(ctx, req)
						if err != nil {
							b.Fatal(err)
						}
						if d.Allowed == (c.name == "refuse") {
							b.Fatalf("allowed: %v", d.Allowed)
						}
					}
				})
			})
		}
	}
}

// waitLong makes a request cancelable, and lets it wait for a slot.
func waitLong(req *store.Request) { req.Cancelable, req.MaxWait = true, store.MaxPeriod/4 }

// takeAll makes a request take all units of the narrow limit.
func takeAll(req *store.Request) {
	for i := range req.Charges {
		req.Charges[i].Cost = req.Charges[0].Limit.Max()
	}
}

// BenchmarkServerPacked reports the server's time for a decision among those of
// concurrent callers, each with new keys.
func BenchmarkServerPacked(b *testing.B) {
	client := redistest.Start(b).Client()
	s := newStore(b, client)
	limit := store.Per(1_000_000, time.Hour)
	for _, callers := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			if err := client.FlushAll(context.Background()).Err(); err != nil {
				b.Fatal(err)
			}
			benchmarkServer(b, client, func() {
				var wg sync.WaitGroup
				for k := range callers {
					wg.Go(func() {
						for i := k; i < b.N; i += callers {
							if _, err := s.Take(context.Background(), charge("key"+strconv.Itoa(i), 1, limit)); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
			})
		})
	}
}
