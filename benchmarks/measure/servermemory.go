package measure

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/internal/redistest"
)

var bg = context.Background()

// AfterUnits names a case of ServerMemory: each key took a number of units.
func AfterUnits(units int) string {
	if units == 1 {
		return "after 1 unit"
	}
	return "after " + data.Count(units) + " units"
}

// ServerMemory measures the server's memory per tracked key in two ways:
//
//	MEMORY USAGE   the sum over all Redis keys of the tracked key
//	used_memory    the rise, which includes expiries and the tables of keys
func ServerMemory(r *Run) {
	s := new(scope)
	defer s.close()
	server, at := s.server()
	limiters := r.those(func(c contender.Contender) bool { return c.Redis != nil && !c.Physical || c.Name == "minimal GCRA" })
	for _, c := range limiters {
		for _, units := range []int{1, 1000} {
			err := within(time.Minute, func(ctx context.Context) error { return serverMemoryOnce(ctx, r, c, at, server, units) })
			if err != nil {
				r.remark(data.Server, AfterUnits(units), c.Name, err)
			}
		}
	}
}

func serverMemoryOnce(ctx context.Context, r *Run, c contender.Contender, at contender.Servers, server *redistest.Server, units int) error {
	s := new(scope)
	defer s.close()
	flush(s, server)
	// Realistic limits matter, as numbers take their length from them.
	decide, err := c.Redis(s, contender.Limit{Burst: 1_000_000, Refill: time.Minute, Window: time.Hour}, at)
	if err != nil {
		return err
	}
	n := size(r, 30_000, 2000)
	if units > 1 {
		n = 8
	}
	if err := preload(ctx, decide, []string{"first"}, 1); err != nil {
		return err
	}
	before := number(server.Info("memory")["used_memory"]) - number(server.Info("memory")["mem_clients_normal"])
	keys := makeKeys(n)
	if err := takeUnits(ctx, decide, keys, units); err != nil {
		return err
	}
	memory := server.Info("memory")
	if units == 1 {
		used := number(memory["used_memory"]) - number(memory["mem_clients_normal"]) - before
		r.add(data.Server, AfterUnits(units), c.Name, "used_memory/key", used/float64(n))
	}
	usage, tracked, err := memoryUsage(server.Addr, n)
	if err != nil {
		return err
	}
	r.add(data.Server, AfterUnits(units), c.Name, data.BytesPerKey, usage)
	r.add(data.Server, AfterUnits(units), c.Name, "Redis keys/key", tracked)
	return nil
}

// takeUnits takes a number of units of each key, with one caller per key.
func takeUnits(ctx context.Context, decide contender.Decide, keys []string, units int) error {
	return parallel(min(16, len(keys)), func(caller, callers int) error {
		for range units {
			if err := inTurn(ctx, decide, keys, caller, callers); err != nil {
				return err
			}
		}
		return nil
	})
}

// memoryUsage returns the MEMORY USAGE and the number of Redis keys per tracked key, from
// the first thousand that SCAN finds. Keys of weir's probes belong to no tracked key, and
// end after 10 s.
func memoryUsage(addr string, tracked int) (bytes, keys float64, err error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	total, err := client.DBSize(bg).Result()
	if err != nil {
		return 0, 0, err
	}
	for scan := client.Scan(bg, 0, "*{probe*", 5000).Iterator(); scan.Next(bg); {
		total--
	}
	var sum, seen float64
	for scan := client.Scan(bg, 0, "*", 500).Iterator(); seen < 1000 && scan.Next(bg); {
		if strings.Contains(scan.Val(), "{probe") {
			continue
		}
		seen++
		n, err := client.MemoryUsage(bg, scan.Val(), 0).Result()
		if err != nil {
			return 0, 0, fmt.Errorf("MEMORY USAGE: %w", err)
		}
		sum += float64(n)
	}
	if seen == 0 {
		return 0, 0, fmt.Errorf("no keys")
	}
	// One key was there before.
	keys = float64(total) / float64(tracked+1)
	return sum / seen * keys, keys, nil
}
