package measure

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/internal/redistest"
)

// redisCase are cases with the same keys. Each contender opens once for all of them.
type redisCase struct {
	keys    int
	allowed bool
	callers []int
	few     bool // only for contenders in goals
}

func redisCases(r *Run) []redisCase {
	if r.Quick {
		return []redisCase{{1, true, []int{1, 64}, false}, {1000, true, []int{64}, false}, {1, false, []int{64}, false}}
	}
	callers := []int{1, 8, 64, 256}
	return []redisCase{
		{1, true, callers, false}, {10_000, true, callers, false},
		{1, false, callers, false}, {10_000, false, []int{64}, false},
		{1_000_000, true, []int{64, 256}, true},
	}
}

// few are the contenders in long cases.
var few = map[string]bool{"weir": true, "redis_rate": true, "rueidislimiter": true}

// suits reports whether a contender takes part in a case with a number of callers.
func (c redisCase) suits(of contender.Contender, callers int) bool {
	switch {
	case of.Redis == nil:
		return false
	case c.few:
		return few[of.Name]
	case of.Variant:
		return c.allowed && (callers == 64 || callers == 256 && of.Crowd)
	case of.Batch > 0, of.Name == "PING", of.Name == "return 1":
		return c.keys == 1 && c.allowed
	}
	return c.allowed || !of.Physical
}

// Redis measures decisions by a redis-server on the same machine, with their cost to the
// server.
func Redis(r *Run) {
	s := new(scope)
	defer s.close()
	server, at := s.server()
	for _, c := range redisCases(r) {
		redisRun(r, data.Redis, c, at, []*redistest.Server{server}, c.suits)
	}
}

// Cluster measures decisions by a cluster of three masters.
func Cluster(r *Run) {
	s := new(scope)
	defer s.close()
	cluster := redistest.StartCluster(s)
	at := contender.Servers{Addrs: cluster.Addrs, Cluster: true}
	suits := func(of contender.Contender, _ int) bool { return of.Redis != nil && of.OnCluster }
	for _, c := range []redisCase{{size(r, 10_000, 1000), true, []int{64, 256}, false}, {1, true, []int{64}, false}} {
		redisRun(r, data.Cluster, c, at, cluster.Nodes, suits)
	}
}

// redisRun opens all contenders of a case, then measures them in turn.
func redisRun(r *Run, part string, c redisCase, at contender.Servers, servers []*redistest.Server, suits func(of contender.Contender, callers int) bool) {
	s := new(scope)
	defer s.close()
	for _, server := range servers {
		flush(s, server)
	}
	limit := contender.Tight()
	if c.allowed {
		limit = contender.Roomy(c.keys)
	}
	keys := makeKeys(c.keys)
	open := make(map[string]contender.Decide)
	for _, of := range r.those(func(of contender.Contender) bool {
		return slices.ContainsFunc(c.callers, func(callers int) bool { return suits(of, callers) })
	}) {
		limit := limit
		if c.allowed && of.Paced {
			limit = contender.Used(c.keys)
		}
		var decide contender.Decide
		err := within(3*time.Minute, func(ctx context.Context) (err error) {
			if decide, err = of.Redis(s, limit, at); err != nil || of.Batch > 0 {
				return err
			}
			return preload(ctx, decide, keys, min(64, len(keys)))
		})
		if err == nil {
			open[of.Name] = decide
			continue
		}
		for _, callers := range c.callers {
			r.fail(part, data.Decisions(c.keys, callers, c.allowed), of.Name, err)
		}
	}
	for _, callers := range c.callers {
		name := data.Decisions(c.keys, callers, c.allowed)
		r.Log("  %s", name)
		those := r.those(func(of contender.Contender) bool { return open[of.Name] != nil && suits(of, callers) })
		r.passes(func() {
			for _, of := range those {
				if !r.gaveUp(part, name, of.Name) {
					redisOnce(r, part, redisLoad{name, keys, callers, c.allowed}, of, open[of.Name], servers)
				}
			}
		})
	}
}

// redisLoad is the load of a measurement.
type redisLoad struct {
	name    string
	keys    []string
	callers int
	allowed bool
}

func redisOnce(r *Run, part string, l redisLoad, of contender.Contender, decide contender.Decide, servers []*redistest.Server) {
	var o *outcome
	var spent cost
	err := within(20*time.Second, func(context.Context) error {
		// The first calls connect.
		warm := max(size(r, of.Warm, 0), 20*time.Millisecond)
		drive(decide, load{keys: l.keys, callers: l.callers, lasts: warm})
		before := costOf(servers)
		o = drive(decide, load{keys: l.keys, callers: l.callers, lasts: size(r, 300*time.Millisecond, 50*time.Millisecond), timed: true})
		spent = costOf(servers).minus(before)
		return o.check(l.allowed)
	})
	if err != nil {
		r.fail(part, l.name, of.Name, err)
		return
	}
	n := o.decided() * math.Max(1, float64(of.Batch))
	add := func(metric string, value float64) { r.add(part, l.name, of.Name, metric, value) }
	add(data.PerSecond, n/o.took.Seconds())
	add(data.P50, micros(o.calls.quantile(0.5)))
	add(data.P99, micros(o.calls.quantile(0.99)))
	add(data.Allocs, math.Round(10*float64(o.mallocs)/n)/10)
	add(data.Errors, 100*float64(o.failed)/(o.decided()+float64(o.failed)))
	add(data.Scripts, spent.scripts/n)
	add(data.Commands, spent.commands/n)
	add(data.CPU, spent.cpu/n)
	add(data.InScript, spent.inScripts/n)
	add(data.BytesIn, spent.in/n)
	add(data.BytesOut, spent.out/n)
}
