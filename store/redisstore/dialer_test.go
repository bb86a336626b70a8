package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/dial"
	"github.com/redis/go-redis/v9"
)

// The first call after Redis is back succeeds, however long Redis was away. Without
// Configure go-redis fails for up to a second, after as many dials as the pool has
// connections: two here.
func TestConfiguredClientIsBackAtOnce(t *testing.T) {
	t.Parallel()
	const patience = 5 * time.Second // for a busy machine
	single := func(opts ...func(*redis.Options)) func(*testing.T) (redis.UniversalClient, func(), func()) {
		return func(t *testing.T) (redis.UniversalClient, func(), func()) {
			s := redistest.Start(t)
			opts = append(opts, func(o *redis.Options) { o.PoolSize, o.DialTimeout, o.ReadTimeout = 2, patience, patience }, Configure)
			return s.Client(opts...), s.Kill, s.Restart
		}
	}
	for name, start := range map[string]func(*testing.T) (c redis.UniversalClient, down, up func()){
		"one server": single(),
		"a dialer of the caller's": single(func(o *redis.Options) {
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, addr)
			}
		}),
		// Dials ahead fail, and must not count as live connections.
		"idle connections": single(func(o *redis.Options) { o.MinIdleConns = 2 }),
		"universal": func(t *testing.T) (redis.UniversalClient, func(), func()) {
			s := redistest.Start(t)
			o := &redis.UniversalOptions{Addrs: []string{s.Addr}, PoolSize: 2, DialTimeout: patience, ReadTimeout: patience}
			ConfigureUniversal(o)
			c := redis.NewUniversalClient(o)
			t.Cleanup(func() { c.Close() })
			return c, s.Kill, s.Restart
		},
		"ring": func(t *testing.T) (redis.UniversalClient, func(), func()) {
			s := redistest.Start(t)
			// This is how often a ring checks by itself which servers are up.
			o := &redis.RingOptions{
				Addrs: map[string]string{"a": s.Addr}, HeartbeatFrequency: time.Hour,
				PoolSize: 2, DialTimeout: patience, ReadTimeout: patience,
			}
			ConfigureRing(o)
			c := redis.NewRing(o)
			t.Cleanup(func() { c.Close() })
			return c, s.Kill, s.Restart
		},
		"failover": func(t *testing.T) (redis.UniversalClient, func(), func()) {
			s := redistest.StartSentinel(t)
			c := s.Client(func(o *redis.FailoverOptions) {
				o.PoolSize, o.DialTimeout, o.ReadTimeout = 2, patience, patience
			}, ConfigureFailover)
			// Without a replica no other server can become the master.
			return c, func() { s.Replica.Kill(); s.Master.Kill() }, s.Master.Restart
		},
		// go-redis dials in any case until a cluster is well again. This case shows that its nodes
		// are found again.
		"cluster": func(t *testing.T) (redis.UniversalClient, func(), func()) {
			c := redistest.StartCluster(t)
			down := func() {
				for _, n := range c.Nodes {
					n.Kill()
				}
			}
			up := func() {
				for _, n := range c.Nodes {
					n.Restart()
				}
				c.Await()
			}
			return c.Client(func(o *redis.ClusterOptions) {
				o.PoolSize, o.DialTimeout, o.ReadTimeout = 2, patience, patience
			}, ConfigureCluster), down, up
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, down, up := start(t)
			s := newStore(t, client)
			req := charge("k", 1, store.Per(100, time.Hour))
			if _, err := s.Take(context.Background(), req); err != nil {
				t.Fatal(err)
			}
			down()
			for i := range 10 {
				_, err := s.Take(context.Background(), req)
				if err == nil {
					t.Fatalf("call %d: no error", i)
				}
				// The first call may find a connection that was just cut.
				if i > 2 && !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("call %d: %v", i, err)
				}
			}
			up()
			if _, err := s.Take(context.Background(), req); err != nil {
				t.Errorf("the first call after Redis is back: %v", err)
			}
		})
	}
}

// Configure does not change the error of an outage.
func TestConfiguredDialError(t *testing.T) {
	t.Parallel()
	var plain, configured error
	for _, c := range []struct {
		err  *error
		opts []func(*redis.Options)
	}{{&plain, nil}, {&configured, []func(*redis.Options){Configure}}} {
		server := redistest.Start(t)
		client := server.Client(append(c.opts, func(o *redis.Options) { o.DialerRetries = 1 })...)
		server.Kill()
		*c.err = client.Ping(context.Background()).Err()
		if text := strings.ReplaceAll((*c.err).Error(), server.Addr, "ADDR"); text != "dial tcp ADDR: connect: connection refused" {
			t.Errorf("the error is %q", text)
		}
		var op *net.OpError
		if !errors.As(*c.err, &op) || op.Op != "dial" || !errors.Is(*c.err, syscall.ECONNREFUSED) {
			t.Errorf("the error is %#v", *c.err)
		}
	}
}

// TLS may be configured before or after Configure, for every kind of client.
func TestConfiguredDialerUsesTLS(t *testing.T) {
	t.Parallel()
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // No server answers.
	for name, c := range map[string]func() dial.Dialer{
		"single, before": func() dial.Dialer { o := &redis.Options{TLSConfig: config}; Configure(o); return o.Dialer },
		"single, after":  func() dial.Dialer { o := new(redis.Options); Configure(o); o.TLSConfig = config; return o.Dialer },
		"cluster, after": func() dial.Dialer {
			o := new(redis.ClusterOptions)
			ConfigureCluster(o)
			o.TLSConfig = config
			return o.Dialer
		},
		"failover, after": func() dial.Dialer {
			o := new(redis.FailoverOptions)
			ConfigureFailover(o)
			o.TLSConfig = config
			return o.Dialer
		},
		"ring, after": func() dial.Dialer {
			o := new(redis.RingOptions)
			ConfigureRing(o)
			o.TLSConfig = config
			return o.Dialer
		},
		"universal, after": func() dial.Dialer {
			o := new(redis.UniversalOptions)
			ConfigureUniversal(o)
			o.TLSConfig = config
			return o.Dialer
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			first := make(chan byte, 1)
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				var b [1]byte
				_, _ = conn.Read(b[:])
				conn.Close()
				first <- b[0]
			}()
			dial := c()
			conn, err := dial(context.Background(), "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			const handshake = 0x16
			if b := <-first; b != handshake {
				t.Errorf("the first byte is %#x, want that of a TLS handshake", b)
			}
		})
	}
}

// Configure keeps DialerRetries that are set.
func TestConfigureKeepsDialerRetries(t *testing.T) {
	t.Parallel()
	dials := 0
	o := &redis.Options{DialerRetries: 3, DialerRetryTimeout: 1, Dialer: func(context.Context, string, string) (net.Conn, error) {
		dials++
		return nil, errors.New("no")
	}}
	Configure(o)
	c := redis.NewClient(o)
	defer c.Close()
	if err := c.Ping(context.Background()).Err(); err == nil || dials != 3 {
		t.Errorf("%d dials, %v", dials, err)
	}
}
