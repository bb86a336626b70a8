package measure

import (
	"context"
	"math"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/internal/redistest"
)

// redisCase is a case of decisions by Redis.
type redisCase struct {
	keys, callers int
	allowed       bool
	few           bool // for those that goals speak of
}

func redisCases(r *Run) []redisCase {
	if r.Quick {
		return []redisCase{{1, 1, true, false}, {1, 64, true, false}, {1000, 64, true, false}, {1, 64, false, false}}
	}
	var cases []redisCase
	for _, keys := range []int{1, 10_000} {
		for _, callers := range []int{1, 8, 64, 256} {
			cases = append(cases, redisCase{keys, callers, true, false})
		}
	}
	for _, callers := range []int{1, 8, 64, 256} {
		cases = append(cases, redisCase{1, callers, false, false})
	}
	return append(cases, redisCase{10_000, 64, false, false},
		redisCase{1_000_000, 64, true, true}, redisCase{1_000_000, 256, true, true})
}

// few are those who take part where it takes long.
var few = map[string]bool{"weir": true, "redis_rate": true, "rueidislimiter": true}

// suits reports whether a contender takes part in a case.
func (c redisCase) suits(of contender.Contender) bool {
	switch {
	case of.Redis == nil:
		return false
	case c.few:
		return few[of.Name]
	case of.Variant:
		return c.callers == 64 && c.allowed
	case of.Batch > 0, of.Name == "PING", of.Name == "return 1":
		return c.keys == 1 && c.allowed
	}
	return c.allowed || !of.Physical
}

// Redis measures decisions by a redis-server on the same machine, together
// with what they cost that server.
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
	keys := size(r, 10_000, 1000)
	for _, c := range []redisCase{{keys, 64, true, false}, {keys, 256, true, false}, {1, 64, true, false}} {
		redisRun(r, data.Cluster, c, at, cluster.Nodes, func(of contender.Contender) bool {
			return of.Redis != nil && of.OnCluster
		})
	}
}

// redisRun opens all contenders of a case, then measures them in turn.
func redisRun(r *Run, part string, c redisCase, at contender.Servers, servers []*redistest.Server, suits func(contender.Contender) bool) {
	s := new(scope)
	defer s.close()
	for _, server := range servers {
		flush(s, server)
	}
	name := data.Decisions(c.keys, c.callers, c.allowed)
	r.Log("  %s", name)
	limit := contender.Tight()
	if c.allowed {
		limit = contender.Roomy(c.keys)
	}
	keys := makeKeys(c.keys)
	open := make(map[string]contender.Decide)
	those := r.those(suits)
	for _, of := range those {
		var decide contender.Decide
		err := within(3*time.Minute, func(ctx context.Context) (err error) {
			if decide, err = of.Redis(s, limit, at); err != nil || of.Batch > 0 {
				return err
			}
			return preload(ctx, decide, keys, min(64, len(keys)))
		})
		if err != nil {
			r.fail(part, name, of.Name, err)
			continue
		}
		open[of.Name] = decide
	}
	r.passes(func() {
		for _, of := range those {
			if !r.gaveUp(part, name, of.Name) {
				redisOnce(r, part, name, c, of, open[of.Name], keys, servers)
			}
		}
	})
}

func redisOnce(r *Run, part, name string, c redisCase, of contender.Contender, decide contender.Decide, keys []string, servers []*redistest.Server) {
	var o *outcome
	var spent cost
	err := within(20*time.Second, func(context.Context) error {
		// The first calls connect.
		drive(decide, load{keys: keys, callers: c.callers, lasts: 20 * time.Millisecond})
		before := costOf(servers)
		o = drive(decide, load{keys: keys, callers: c.callers, lasts: size(r, 300*time.Millisecond, 50*time.Millisecond), timed: true})
		spent = costOf(servers).minus(before)
		return o.check(c.allowed)
	})
	if err != nil {
		r.fail(part, name, of.Name, err)
		return
	}
	n := o.decided() * math.Max(1, float64(of.Batch))
	add := func(metric string, value float64) { r.add(part, name, of.Name, metric, value) }
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
