package fallback_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/internal/redistest"
)

// dialing connects clients, with faults of its own.
type dialing struct {
	slow atomic.Bool            // resolving a name takes seconds
	lose atomic.Int64           // percent of the calls that fail
	lead atomic.Pointer[string] // connections go there; nil: to the client's address
	stop chan struct{}          // ends flapping
	done chan struct{}
}

func newDialing() *dialing { return &dialing{stop: make(chan struct{}), done: make(chan struct{})} }

func (d *dialing) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	for i := 0; i < 300 && d.slow.Load(); i++ {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	if to := d.lead.Load(); to != nil {
		addr = *to
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &losing{conn, d}, nil
}

// losing is a connection on which some calls fail: half of them before they reach Redis,
// half after.
type losing struct {
	net.Conn
	of *dialing
}

func (l *losing) Write(p []byte) (int, error) {
	if rand.Int64N(100) >= l.of.lose.Load() {
		return l.Conn.Write(p)
	}
	if rand.IntN(2) == 0 {
		if _, err := l.Conn.Write(p); err != nil {
			return 0, err
		}
		time.Sleep(time.Millisecond)
	}
	l.Conn.Close()
	return 0, errors.New("the connection is lost")
}

func kill(_ testing.TB, f *fleet, _ *dialing)    { f.server.Kill() }
func restart(_ testing.TB, f *fleet, _ *dialing) { f.server.Restart() }
func stop(_ testing.TB, f *fleet, _ *dialing)    { f.server.Stop() }
func cont(_ testing.TB, f *fleet, _ *dialing)    { f.server.Cont() }
func refuse(_ testing.TB, f *fleet, _ *dialing)  { f.proxy.Set(redistest.Refuse) }
func pass(_ testing.TB, f *fleet, _ *dialing)    { f.proxy.Set(f.well) }

// command sends commands to Redis.
func command(lines string) func(testing.TB, *fleet, *dialing) {
	return func(t testing.TB, f *fleet, _ *dialing) { run(t, f.server, lines) }
}

// busy runs a script that only SCRIPT KILL ends.
func busy(t testing.TB, f *fleet, _ *dialing) {
	run(t, f.server, "config set lua-time-limit 100")
	c := redis.NewClient(&redis.Options{Addr: f.server.Addr, MaxRetries: -1, ReadTimeout: -1})
	go func() {
		defer c.Close()
		c.Eval(context.Background(), "while true do end", nil)
	}()
}

// maxClients changes the number of clients, and closes all connections but the admin's.
func maxClients(n int) func(testing.TB, *fleet, *dialing) {
	return func(t testing.TB, f *fleet, _ *dialing) {
		for _, args := range [][]any{{"config", "set", "maxclients", n}, {"client", "kill", "type", "normal", "skipme", "yes"}} {
			if err := f.admin.Do(context.Background(), args...).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func save(t testing.TB, f *fleet, _ *dialing) {
	if err := f.admin.Save(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
}

func lossy(percent int64) func(testing.TB, *fleet, *dialing) {
	return func(_ testing.TB, _ *fleet, d *dialing) { d.lose.Store(percent) }
}

// slowDNS makes clients connect anew, which takes three seconds.
func slowDNS(t testing.TB, f *fleet, d *dialing) {
	d.slow.Store(true)
	run(t, f.server, "client kill type normal")
}

func quickDNS(_ testing.TB, _ *fleet, d *dialing) { d.slow.Store(false) }

// lag starts a replica with the present data of Redis, and cuts it off from later data.
func lag(t testing.TB, f *fleet, d *dialing) {
	host, port, _ := strings.Cut(f.server.Addr, ":")
	replica := redistest.Start(t, "--replicaof", host, port)
	run(t, f.server, "config set repl-diskless-sync-delay 0")
	eventually(t, "the replica is in sync", func() bool { return replica.Info("replication")["master_link_status"] == "up" })
	run(t, replica, "replicaof no one")
	proxy := redistest.NewProxy(t, replica.Addr)
	proxy.Set(f.well)
	t.Cleanup(func() { d.lead.Store(nil) })
	f.replica = proxy.Addr
}

// promote makes all clients connect to the replica.
func promote(_ testing.TB, f *fleet, d *dialing) { d.lead.Store(&f.replica) }

// flap starts a fault every 300 ms and ends it again, until unflap.
func flap(begin, end func(testing.TB, *fleet, *dialing)) func(testing.TB, *fleet, *dialing) {
	return func(t testing.TB, f *fleet, d *dialing) {
		go func() {
			defer close(d.done)
			for {
				begin(t, f, d)
				time.Sleep(300 * time.Millisecond)
				end(t, f, d)
				select {
				case <-d.stop:
					return
				case <-time.After(300 * time.Millisecond):
				}
			}
		}()
	}
}

func unflap(_ testing.TB, _ *fleet, d *dialing) {
	close(d.stop)
	<-d.done
}
