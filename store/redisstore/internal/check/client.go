package check

import (
	"errors"
	"fmt"

	"github.com/goweir/weir/internal/redisclient"
)

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
