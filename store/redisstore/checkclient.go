package redisstore

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/goweir/weir/store/redisstore/internal/combine"
	"github.com/redis/go-redis/v9"
)

// clientOptions are options of any client that Check knows.
type clientOptions struct {
	deadlines      bool // ContextTimeoutEnabled
	retries, dials int
	pool, active   int // PoolSize, MaxActiveConns
}

// client checks the options of the client.
func (c *check) client() {
	var is clientOptions
	switch client := c.store.client.(type) {
	case *redis.Client:
		o := client.Options()
		is = clientOptions{o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries, o.PoolSize, o.MaxActiveConns}
	case *redis.ClusterClient:
		o := client.Options()
		is = clientOptions{o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries, o.PoolSize, o.MaxActiveConns}
	case *redis.Ring:
		o := client.Options()
		is = clientOptions{o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries, o.PoolSize, o.MaxActiveConns}
	default:
		return
	}
	var errs []error
	if !is.deadlines {
		errs = append(errs, errors.New("ContextTimeoutEnabled is false: calls outlast their deadlines"))
	}
	if is.retries > 0 {
		errs = append(errs, fmt.Errorf("MaxRetries is %d: calls take longer in an outage", is.retries))
	}
	if is.dials != 1 {
		errs = append(errs, errors.New("DialerRetries is not 1: calls take longer in an outage"))
	}
	if len(errs) > 0 {
		remedy := "apply redisstore.Configure to its options before it is made, or use Open"
		if c.store.owned {
			remedy = "leave max_retries and dialer_retries out of the URL"
		}
		c.add(Finding{Name: "client", Level: Warning, What: "the client waits too long for Redis", Remedy: remedy, Err: errors.Join(errs...)})
	}
	c.pool(&is)
}

// pool checks that waits, reservations and corrections find a connection beside shared
// round trips.
func (c *check) pool(is *clientOptions) {
	size := is.pool // 0: a Ring's default
	if is.active > 0 && (size == 0 || is.active < size) {
		size = is.active
	}
	shared := cmp.Or(c.store.queues.config.RoundTrips, combine.DefaultRoundTrips)
	if size == 0 || size > shared {
		return
	}
	option := "PoolSize"
	if c.store.owned {
		option = "pool_size in the URL"
	}
	c.add(Finding{
		Name: "pool", Level: Warning, What: fmt.Sprintf("the pool has room for %d connections, and shared round trips alone use %d: other calls wait", size, min(size, shared)),
		Remedy: fmt.Sprintf("raise %s to %d or more, or leave it out: go-redis's default is enough", option, shared+1),
	})
}
