package redisstore

import (
	"crypto/tls"
	"time"

	"github.com/goweir/weir/store/redisstore/internal/dial"
	"github.com/redis/go-redis/v9"
)

// Defaults of Configure.
const (
	dialTimeout  = 500 * time.Millisecond
	replyTimeout = 250 * time.Millisecond
	poolTimeout  = 500 * time.Millisecond
)

// Configure sets options of a go-redis client for decisions, which are useless when late. By
// default go-redis waits 5 s for a silent server, whatever the context says. It dials five
// times, 100 ms apart, before it reports a server as down. Configure keeps options that are
// set already. It sets:
//
//	option                      value
//	ContextTimeoutEnabled       true: a context's deadline reaches the socket
//	DialTimeout, PoolTimeout    500 ms
//	ReadTimeout, WriteTimeout   250 ms
//	DialerRetries               1
//	MaxRetries                  -1
//	Dialer                      a wrapper, with DialerRetries 1: see below
//
// The Store never sends a decision twice, whatever MaxRetries is. If the client also serves
// other purposes, set MaxRetries before.
//
// The Dialer wraps the one that is set, or go-redis's own. With it the first call after an
// outage finds Redis again. It reads DialTimeout and TLSConfig when it dials: call Configure
// on the options from which you make the client, and not on a copy. [ConfigureCluster],
// [ConfigureFailover], [ConfigureRing] and [ConfigureUniversal] are for other clients.
//
// No store needs Configure: package fallback decides a call within its budget with any
// client. With Configure, abandoned calls and outages end sooner.
func Configure(o *redis.Options) {
	configure(&o.ContextTimeoutEnabled, &o.MaxRetries, &o.DialerRetries, times{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout}, &o.Dialer, &o.TLSConfig)
}

// ConfigureCluster is Configure for a cluster client. It keeps MaxRedirects: a node that
// redirects a call has not carried it out.
func ConfigureCluster(o *redis.ClusterOptions) {
	configure(&o.ContextTimeoutEnabled, &o.MaxRetries, &o.DialerRetries, times{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout}, &o.Dialer, &o.TLSConfig)
}

// ConfigureFailover is Configure for a client of a Sentinel.
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

// times are pointers to the timeouts of some options.
type times struct{ dial, read, write, pool *time.Duration }

func configure(contexts *bool, retries, dials *int, t times, d *dial.Dialer, config **tls.Config) {
	*contexts = true
	unlessSet(retries, -1)
	unlessSet(dials, 1)
	unlessSet(t.dial, dialTimeout)
	unlessSet(t.read, replyTimeout)
	unlessSet(t.write, replyTimeout)
	unlessSet(t.pool, poolTimeout)
	if *dials == 1 {
		dial.Always(d, t.dial, config)
	}
}

func unlessSet[T comparable](field *T, value T) {
	if zero := *new(T); *field == zero {
		*field = value
	}
}
