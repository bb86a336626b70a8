package redisstore

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// TestFailoverLosesReleases: a replica becomes the master without the last releases. The calls
// that have ended block no others: not for the 30 s of their leases.
func TestFailoverLosesReleases(t *testing.T) {
	t.Parallel()
	const most = 4
	first := redistest.Start(t, "--repl-diskless-sync-delay", "0")
	host, port, _ := strings.Cut(first.Addr, ":")
	second := redistest.Start(t, "--replicaof", host, port)
	var lead atomic.Pointer[string]
	lead.Store(&first.Addr)
	c := first.Client(func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, *lead.Load())
		}
	})
	l, err := weir.New(weir.Config{Name: "api", Store: newStore(t, c), Limits: []weir.Limit{weir.PerSecond(1_000_000)}, InFlight: most})
	if err != nil {
		t.Fatal(err)
	}
	all := func(ctx context.Context) (leases []*weir.Lease) {
		for range most {
			lease, err := l.Acquire(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			leases = append(leases, lease)
		}
		return leases
	}
	ctx := t.Context()
	leases := all(ctx)
	master, replica := first.Client(), second.Client()
	for end := time.Now().Add(10 * time.Second); leasesOf(replica, newStore(t, c), "k") < most; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the replica does not get the leases")
		}
	}
	if err := replica.ReplicaOf(ctx, "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	for _, lease := range leases {
		lease.Release()
	}
	waitForNone(t, master, newStore(t, master), "k")
	lead.Store(&second.Addr)
	if err := master.ClientKillByFilter(ctx, "TYPE", "normal").Err(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, lease := range all(ctx) {
		lease.Release()
	}
	t.Logf("there is room after %v", time.Since(start))
	waitForNone(t, replica, newStore(t, replica), "k")
}
