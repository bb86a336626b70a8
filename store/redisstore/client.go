package redisstore

import (
	"crypto/tls"
	"time"

	"github.com/redis/go-redis/v9"
)

// Times that Configure sets where they are 0.
const (
	dialTimeout  = 500 * time.Millisecond
	replyTimeout = 250 * time.Millisecond
	poolTimeout  = 500 * time.Millisecond
)

// Configure prepares the options of a go-redis client for deciding, where an
// answer that comes late is worth nothing. By itself go-redis waits 5 s for a
// silent server whatever the context says, and dials five times, 100 ms apart,
// before it finds that a server is down. Configure sets
//
//   - ContextTimeoutEnabled, so that a context's deadline reaches the socket;
//   - DialTimeout and PoolTimeout to 500 ms, ReadTimeout and WriteTimeout to
//     250 ms, DialerRetries to 1, each unless it is set already;
//   - MaxRetries to -1, unless it is set already. The store never has a decision
//     sent twice in any case; of a client that serves other purposes too, set
//     MaxRetries before;
//   - with DialerRetries 1, a Dialer around the one that is set already or
//     go-redis's own, so that Redis is found back by the first call after it
//     is. By itself go-redis dials only once a second when as many dials have
//     failed as its pool is large, and fails all calls meanwhile.
//
// It has to be called before the client is made, and on the options that the
// client is made from: the Dialer reads DialTimeout and TLSConfig of these when
// it dials, not of a copy. The same for other clients are
// [ConfigureCluster], [ConfigureFailover], [ConfigureRing] and
// [ConfigureUniversal]. No store depends on it: behind package fallback a call
// is decided within its budget by any client, and what is gained is that calls
// which nobody waits for end sooner, and that an outage is over sooner.
func Configure(o *redis.Options) {
	configure(&o.ContextTimeoutEnabled, &o.MaxRetries, &o.DialerRetries, times{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout}, &o.Dialer, &o.TLSConfig)
}

// ConfigureCluster is Configure for a cluster client. MaxRedirects stays: what a
// node sends on to another it has not carried out.
func ConfigureCluster(o *redis.ClusterOptions) {
	configure(&o.ContextTimeoutEnabled, &o.MaxRetries, &o.DialerRetries, times{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout}, &o.Dialer, &o.TLSConfig)
}

// ConfigureFailover is Configure for a client that asks a Sentinel.
func ConfigureFailover(o *redis.FailoverOptions) {
	configure(&o.ContextTimeoutEnabled, &o.MaxRetries, &o.DialerRetries, times{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout}, &o.Dialer, &o.TLSConfig)
}

// ConfigureRing is Configure for a ring.
func ConfigureRing(o *redis.RingOptions) {
	configure(&o.ContextTimeoutEnabled, &o.MaxRetries, &o.DialerRetries, times{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout}, &o.Dialer, &o.TLSConfig)
}

// ConfigureUniversal is Configure for redis.NewUniversalClient.
func ConfigureUniversal(o *redis.UniversalOptions) {
	configure(&o.ContextTimeoutEnabled, &o.MaxRetries, &o.DialerRetries, times{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout}, &o.Dialer, &o.TLSConfig)
}

// times are the timeouts of some options.
type times struct{ dial, read, write, pool *time.Duration }

func configure(contexts *bool, retries, dials *int, t times, d *dialer, config **tls.Config) {
	*contexts = true
	unlessSet(retries, -1)
	unlessSet(dials, 1)
	unlessSet(t.dial, dialTimeout)
	unlessSet(t.read, replyTimeout)
	unlessSet(t.write, replyTimeout)
	unlessSet(t.pool, poolTimeout)
	if *dials == 1 {
		everyDial(d, t.dial, config)
	}
}

func unlessSet[T comparable](field *T, value T) {
	if zero := *new(T); *field == zero {
		*field = value
	}
}
