package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// Check looks for faults of the client and of each server that decides: the server, each
// master of a cluster, each shard of a Ring. It takes a decision and tries each command
// of docs/redis.md on keys of its own under the Store's prefix, deletes them, and reads
// INFO. It returns the findings, client first. None means that all is well.
//
// Check is for the start of a program, for tests of a deployment, and for people. Log its
// findings rather than exit: behind package fallback a service works without Redis. A call
// takes some milliseconds. It waits for an absent server as long as ctx and the client's
// timeouts allow.
func (s *Store) Check(ctx context.Context) []Finding {
	c := &check{store: s, id: rand.Text()}
	if s.closed.Load() {
		c.failed("", false, ErrClosed)
		return c.findings
	}
	c.client()
	targets, err := c.targets(ctx)
	if err != nil && !c.failed("", false, err) {
		c.add(Finding{Name: "cluster", Level: Fault, What: "the masters can't be asked for", Remedy: "ACL SETUSER with +cluster|slots", Err: err})
	}
	for i := range targets {
		c.target(ctx, &targets[i])
	}
	return c.findings
}

// check collects the findings of one Check.
type check struct {
	store    *Store
	id       string // of its keys
	findings []Finding
}

// checkScope starts the keys of a check, as the name of a limiter does.
const checkScope = "weir-check"

// add adds a finding, unless the server has one of that name already.
func (c *check) add(f Finding) {
	same := func(g Finding) bool { return g.Name == f.Name && g.Server == f.Server }
	if !slices.ContainsFunc(c.findings, same) {
		c.findings = append(c.findings, f)
	}
}

// target is a server that decides, and a key that it has.
type target struct {
	client redis.UniversalClient
	addr   string
	tls    bool
	key    string
}

func targetOf(c *redis.Client, key string) target {
	o := c.Options()
	return target{c, o.Addr, o.TLSConfig != nil, key}
}

// maxSearch bounds the search for a key of each server. A master without slots has none.
const maxSearch = 1 << 14

// targets returns the servers that decide, by address.
func (c *check) targets(ctx context.Context) ([]target, error) {
	var nodes []*redis.Client
	var of func(ctx context.Context, key string) (*redis.Client, error)
	switch client := c.store.client.(type) {
	case *redis.Client:
		return []target{targetOf(client, c.id)}, nil
	case *redis.ClusterClient:
		var mu sync.Mutex
		err := client.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			nodes = append(nodes, node)
			return nil
		})
		if err != nil {
			return nil, err
		}
		of = client.MasterForKey
	case *redis.Ring:
		nodes = client.GetShardClients()
		c.missing(client.Options(), nodes)
		of = func(_ context.Context, key string) (*redis.Client, error) { return client.GetShardClientForKey(key) }
	default:
		return []target{{client: client, key: c.id}}, nil
	}
	var found []target
	for i := 0; i < maxSearch && len(found) < len(nodes); i++ {
		key := c.id + "-" + strconv.Itoa(i)
		node, err := of(ctx, rediskey.State(c.store.prefix, checkScope, key))
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
func (c *check) missing(o *redis.RingOptions, alive []*redis.Client) {
	for _, addr := range o.Addrs {
		if !slices.ContainsFunc(alive, func(node *redis.Client) bool { return node.Options().Addr == addr }) {
			c.add(Finding{Name: "away", Level: Fault, Server: addr, What: "the ring has given up this shard", Remedy: "start the server, and let the user run PING"})
		}
	}
}

// target checks a server.
func (c *check) target(ctx context.Context, t *target) {
	_, err := c.store.Take(ctx, store.Request{
		Charges:    []store.Charge{{Scope: checkScope, Key: t.key, Limit: store.Per(1000, time.Second), Cost: 1}},
		Cancelable: true, // in a script call of its own
	})
	if err != nil && c.failed(t.addr, t.tls, err) {
		return
	}
	c.commands(ctx, t)
	c.info(ctx, t)
	about := func(f Finding) bool { return f.Server == t.addr && f.Level == Fault }
	if err != nil && !slices.ContainsFunc(c.findings, about) {
		c.add(Finding{Name: "scripts", Level: Fault, Server: t.addr, What: "a decision fails", Remedy: "allow scripts, or " + withoutScripts, Err: err})
	}
}
