package redisstore

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for field, cfg := range map[string]Config{
		"redisstore.Config.Client": {Client: redistest.Start(t).Client()},
		"redisstore.Config.Prefix": {Prefix: "{"},
	} {
		s, err := Open("redis://127.0.0.1:1", cfg)
		var config *store.ConfigError
		if s != nil || !errors.As(err, &config) || config.Field != field {
			t.Errorf("%v, %v, want an error about %s", s, err, field)
		}
	}
}

// TestOpenDecides takes decisions through the URL of each kind of server.
func TestOpenDecides(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) string{
		"single": func(t *testing.T) string { return "redis://" + redistest.Start(t).Addr + "/1" },
		"a socket": func(t *testing.T) string {
			path := t.TempDir() + "/redis.sock"
			redistest.Start(t, "--unixsocket", path)
			return "unix://" + path
		},
		"cluster": func(t *testing.T) string {
			c := redistest.StartCluster(t)
			return "redis://" + c.Addrs[0] + "?addr=" + c.Addrs[0]
		},
		"Sentinel": func(t *testing.T) string {
			s := redistest.StartSentinel(t)
			return "redis://" + s.Addr + "?master_name=" + s.Name
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, url(t))
			for _, key := range []string{"a", "b", "c", "d"} {
				if d := take(t, s, charge(key, 1, store.Per(3, time.Hour))); !d.Allowed || d.Remaining != 2 {
					t.Errorf("%+v", d)
				}
			}
			if found := s.Check(t.Context()); len(found) > 0 {
				t.Errorf("found %v", found)
			}
		})
	}
}

// open opens a store until the end of the test. Its client waits for a busy machine.
func open(t *testing.T, text string) *Store {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	options := u.Query()
	for _, name := range []string{"dial_timeout", "read_timeout", "pool_timeout"} {
		options.Set(name, "10s")
	}
	u.RawQuery = options.Encode()
	s, err := Open(u.String(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestClose: after Close each method fails, also with a caller's client, which stays open.
func TestClose(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	for name, s := range map[string]*Store{"Open": open(t, "redis://"+server.Addr), "New": newStore(t, client)} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			limit := store.Per(1, time.Hour)
			booked := charge(name, 1, limit)
			booked.Cancelable = true
			d := take(t, s, booked)
			if d := take(t, s, charge(name, 1, limit)); d.Allowed { // Its refusal is remembered.
				t.Fatal("allowed")
			}
			watch := s.WatchBrakes(func(string, string, store.Clock) {})
			defer watch.Stop()
			for range 2 {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			defer s.WatchBrakes(func(string, string, store.Clock) {}).Stop()
			_, taken := s.Take(ctx, charge(name, 1, limit))
			_, booking := s.Take(ctx, booked)
			_, renewed := s.Renew(ctx, "", name, time.Second, "id")
			_, restored := s.Restore(ctx, store.Memory{Key: name, Limits: []store.Limit{limit}, At: 1, Known: []store.Used{{}}, ID: "id"})
			for what, err := range map[string]error{
				"Take": taken, "a booking": booking, "Renew": renewed, "Restore": restored,
				"Settle": s.Settle(ctx, d.Receipt, 0), "Reset": s.Reset(ctx, "", name), "Release": s.Release(ctx, "", name, "id"),
				"Brake": s.Brake(ctx, charge(name, 0, limit).Charges, store.Brake{Pause: time.Second}),
			} {
				if !errors.Is(err, ErrClosed) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if found := s.Check(ctx); len(found) != 1 || found[0].Name != "closed" {
				t.Errorf("found %v", found)
			}
		})
	}
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("the caller's client: %v", err)
	}
}

// TestCloseUnderLoad: calls under way end, with an error or a decision.
func TestCloseUnderLoad(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, "redis://"+server.Addr)
	take(t, s, charge("key", 1, store.Per(1000, time.Hour)))
	server.Stop()
	var calls sync.WaitGroup
	for range 32 {
		calls.Go(func() {
			if _, err := s.Take(context.Background(), charge("key", 1, store.Per(1000, time.Hour))); err == nil {
				t.Error("no error")
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	calls.Wait()
	server.Cont()
}

// TestOpenDoesNoIO: a program starts though its server is away.
func TestOpenDoesNoIO(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	connections := func() int {
		n, err := strconv.Atoi(server.Info("stats")["total_connections_received"])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := connections()
	s, err := Open("redis://"+server.Addr, Config{})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if own := connections() - before - 1; own != 0 { // 1: the second INFO's
		t.Errorf("%d connections", own)
	}
}

// TestOpenLooksNoHostUp: a service starts though DNS does not answer. For Sentinel go-redis
// before v9.23 looks up a host that does not exist, for at most two seconds. The test changes
// the resolver of the process, so it is not parallel.
func TestOpenLooksNoHostUp(t *testing.T) {
	var lookups atomic.Int32
	resolver := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		lookups.Add(1)
		return nil, errors.New("no DNS")
	}}
	defer func() { net.DefaultResolver = resolver }()
	for url, looks := range map[string]bool{
		"redis://redis.example.com:6379/0":                            false,
		"rediss://user:password@redis.example.com:6379":               false,
		"redis://redis.example.com:6379?addr=redis2.example.com:6379": false,
		"redis://sentinel.example.com:26379?master_name=main":         !newGoRedis(t),
	} {
		s, err := Open(url, Config{})
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		if n := lookups.Swap(0); (n != 0) != looks {
			t.Errorf("%s: %d lookups, want some: %v", url, n, looks)
		}
	}
}
