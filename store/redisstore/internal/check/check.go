// Package check looks for faults of a client and its servers: see redisstore.Store.Check.
package check

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/goweir/weir/internal/redisclient"
	"github.com/goweir/weir/internal/rediskey"
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
	if err != nil && r.failed(t.Addr, t.TLS, err) {
		return
	}
	if sentinel := r.info(ctx, t); !sentinel {
		r.commands(ctx, t)
	}
	if err != nil && !slices.ContainsFunc(r.findings, func(f Finding) bool { return f.Server == t.Addr && f.Level == Fault }) {
		r.add(Finding{Name: "scripts", Level: Fault, Server: t.Addr, What: "a decision fails", Remedy: "allow scripts, or " + withoutScripts, Err: err})
	}
}

// maxSearch bounds the search for a key of each server. A master without slots has none.
const maxSearch = 1 << 14

// targets returns the servers that decide, by address.
func (r *report) targets(ctx context.Context) (found []target, err error) {
	servers, err := redisclient.Servers(ctx, r.Client)
	if ring, ok := r.Client.(*redis.Ring); ok {
		r.missing(ring.Options(), servers)
	}
	for i := 0; err == nil && i < maxSearch && len(found) < len(servers); i++ {
		t := target{key: r.id + "-" + strconv.Itoa(i)}
		t.Server, err = redisclient.ServerOf(ctx, r.Client, rediskey.State(r.Prefix, scope, t.key))
		if err == nil && !slices.ContainsFunc(found, func(f target) bool { return f.Server == t.Server }) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b target) int { return cmp.Compare(a.Addr, b.Addr) })
	return found, err
}

// missing adds a finding for each shard that a ring has given up.
func (r *report) missing(o *redis.RingOptions, alive []redisclient.Server) {
	for _, addr := range o.Addrs {
		if !slices.ContainsFunc(alive, func(s redisclient.Server) bool { return s.Addr == addr }) {
			r.add(Finding{Name: "away", Level: Fault, Server: addr, What: "the ring has given up this shard", Remedy: "start the server, and let the user run PING"})
		}
	}
}

// client checks the options of the client.
func (r *report) client() {
	is, ok := redisclient.OptionsOf(r.Client)
	if !ok {
		return
	}
	var errs []error
	if !is.Deadlines {
		errs = append(errs, errors.New("ContextTimeoutEnabled is false: calls outlast their deadlines"))
	}
	if is.Retries > 0 {
		errs = append(errs, fmt.Errorf("MaxRetries is %d: calls take longer in an outage", is.Retries))
	}
	if is.Dials != 1 {
		errs = append(errs, errors.New("DialerRetries is not 1: calls take longer in an outage"))
	}
	if len(errs) > 0 {
		remedy := "apply redisstore.Configure to its options before it is made, or use Open"
		if r.Owned {
			remedy = "leave max_retries and dialer_retries out of the URL"
		}
		r.add(Finding{Name: "client", Level: Warning, What: "the client waits too long for Redis", Remedy: remedy, Err: errors.Join(errs...)})
	}
	r.pool(&is)
}

// pool checks that waits, reservations and corrections find a connection beside shared
// round trips.
func (r *report) pool(is *redisclient.Options) {
	size := is.PoolSize()
	if size > r.RoundTrips {
		return
	}
	option := "PoolSize"
	if r.Owned {
		option = "pool_size in the URL"
	}
	r.add(Finding{
		Name: "pool", Level: Warning, What: fmt.Sprintf("the pool has room for %d connections, and shared round trips alone use %d: other calls wait", size, min(size, r.RoundTrips)),
		Remedy: fmt.Sprintf("raise %s to %d or more, or leave it out: go-redis's default is enough", option, r.RoundTrips+1),
	})
}
