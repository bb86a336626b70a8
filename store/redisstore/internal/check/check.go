// Package check looks for faults of a client and its servers: see redisstore.Store.Check.
package check

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"sync"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store/redisstore/internal/client"
	"github.com/redis/go-redis/v9"
)

// Run returns the findings about a store, those of the client first.
func Run(ctx context.Context, s Store) []Finding {
	r := &report{Store: s, id: rand.Text()}
	if s.Ended != nil {
		r.failed("", false, s.Ended)
		return r.findings
	}
	r.client()
	targets, err := r.targets(ctx)
	if err != nil && !r.failed("", false, err) {
		r.add(Finding{Name: "cluster", Level: Fault, What: "the masters can't be asked for", Remedy: "ACL SETUSER with +cluster|slots", Err: err})
	}
	for i := range targets {
		r.target(ctx, &targets[i])
	}
	return r.findings
}

// target checks a server.
func (r *report) target(ctx context.Context, t *target) {
	err := r.Take(ctx, scope, t.key)
	if err != nil && r.failed(t.addr, t.tls, err) {
		return
	}
	r.commands(ctx, t)
	r.info(ctx, t)
	about := func(f Finding) bool { return f.Server == t.addr && f.Level == Fault }
	if err != nil && !slices.ContainsFunc(r.findings, about) {
		r.add(Finding{Name: "scripts", Level: Fault, Server: t.addr, What: "a decision fails", Remedy: "allow scripts, or " + withoutScripts, Err: err})
	}
}

func targetOf(c *redis.Client, key string) target {
	o := c.Options()
	return target{c, o.Addr, o.TLSConfig != nil, key}
}

// maxSearch bounds the search for a key of each server. A master without slots has none.
const maxSearch = 1 << 14

// targets returns the servers that decide, by address.
func (r *report) targets(ctx context.Context) ([]target, error) {
	var nodes []*redis.Client
	switch c := r.Client.(type) {
	case *redis.Client:
		return []target{targetOf(c, r.id)}, nil
	case *redis.ClusterClient:
		var mu sync.Mutex
		err := c.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			nodes = append(nodes, node)
			return nil
		})
		if err != nil {
			return nil, err
		}
	case *redis.Ring:
		nodes = c.GetShardClients()
		r.missing(c.Options(), nodes)
	default:
		return []target{{client: c, key: r.id}}, nil
	}
	var found []target
	of := client.ForKey(r.Client)
	for i := 0; i < maxSearch && len(found) < len(nodes); i++ {
		key := r.id + "-" + strconv.Itoa(i)
		node, err := of(ctx, rediskey.State(r.Prefix, scope, key))
		if err != nil {
			return found, err
		}
		t := targetOf(node, key)
		if !slices.ContainsFunc(found, func(f target) bool { return f.addr == t.addr }) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b target) int { return cmp.Compare(a.addr, b.addr) })
	return found, nil
}

// missing adds a finding for each shard that a ring has given up.
func (r *report) missing(o *redis.RingOptions, alive []*redis.Client) {
	for _, addr := range o.Addrs {
		if !slices.ContainsFunc(alive, func(node *redis.Client) bool { return node.Options().Addr == addr }) {
			r.add(Finding{Name: "away", Level: Fault, Server: addr, What: "the ring has given up this shard", Remedy: "start the server, and let the user run PING"})
		}
	}
}
