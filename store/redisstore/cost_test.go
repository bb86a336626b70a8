package redisstore

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// usec returns what the server took for EVALSHA calls.
func usec(c *redis.Client) (calls, us float64) {
	for _, line := range strings.Split(c.Info(context.Background(), "commandstats").Val(), "\r\n") {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:"); ok {
			for _, f := range strings.Split(rest, ",") {
				k, v, _ := strings.Cut(f, "=")
				n, _ := strconv.ParseFloat(v, 64)
				switch k {
				case "calls":
					calls = n
				case "usec":
					us = n
				}
			}
		}
	}
	return
}

func TestCost(t *testing.T) {
	if os.Getenv("WEIR_COST") == "" {
		t.Skip()
	}
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	ctx := context.Background()
	g := store.Per(1_000_000, time.Hour)
	three := []store.Limit{store.Per(1_000_000, time.Hour), store.Per(5_000_000, 24*time.Hour), store.Per(100_000, time.Minute)}
	two := []store.Limit{store.Per(100_000, time.Minute).By(store.SlidingWindow), store.Per(1_000_000, time.Hour).By(store.SlidingWindow)}
	mixed := []store.Limit{store.Per(100_000, time.Minute).By(store.FixedWindow), store.Per(1_000_000, time.Hour).By(store.AlignedWindow), store.Per(1_000_000, time.Hour).By(store.SlidingCounter)}
	measure := func(name string, f func(i int)) {
		f(0)
		best := 1e9
		for range 5 {
			c.ConfigResetStat(ctx)
			for i := range 2000 {
				f(i)
			}
			calls, us := usec(c)
			best = min(best, us/calls)
		}
		fmt.Printf("%-40s %7.2f us\n", name, best)
	}
	take := func(req store.Request) store.Decision {
		d, err := s.Take(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for name, limits := range map[string][]store.Limit{"1 gcra": {g}, "3 gcra": three, "2 sliding": two, "3 windows": mixed} {
		measure("allow "+name, func(i int) { take(charge("a"+name, 1, limits...)) })
		r := charge("r"+name, 1, limits...)
		r.Cancelable, r.MaxWait = true, time.Minute
		measure("reserve "+name, func(i int) { take(r) })
		measure("allow after a reservation "+name, func(i int) { take(charge("r"+name, 1, limits...)) })
		small := limits[0]
		small.Rate = 5
		many := append([]store.Limit{small}, limits[1:]...)
		x := charge("w"+name, 1, many...)
		x.Cancelable, x.MaxWait = true, 1000*time.Hour
		measure("wait ahead "+name, func(i int) { take(x) })
		measure("refused "+name, func(i int) { take(charge("w"+name, 1+int64(i%3), many...)) })
	}
	for _, n := range []int{1, 16, 128} {
		var wg sync.WaitGroup
		c.ConfigResetStat(ctx)
		for k := range n {
			wg.Go(func() {
				for i := range 20000 / n {
					take(charge(fmt.Sprint("p", k, i), 1, g))
				}
			})
		}
		wg.Wait()
		_, us := usec(c)
		fmt.Printf("packed new keys, %d callers %27.2f us a decision\n", n, us/20000)
	}
}
