package howto

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/store/redisstore"
	"github.com/goweir/weir/weirtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// shared returns one store for n programs in a bubble of synctest.
func shared(t *testing.T, n int) []weir.Store {
	t.Helper()
	one, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	stores := make([]weir.Store, n)
	for i := range stores {
		stores[i] = one
	}
	return stores
}

// away returns the stores of n programs whose Redis is away.
func away(t *testing.T, n int) []weir.Store {
	t.Helper()
	stores := make([]weir.Store, n)
	for i := range stores {
		redis := weirtest.NewStore(nil)
		redis.Always(weirtest.Fail(errors.New("connection refused")))
		s, err := fallback.New(fallback.Config{Primary: redis, Replicas: n})
		if err != nil {
			t.Fatal(err)
		}
		stores[i] = s
	}
	return stores
}

// overRedis returns the stores of n programs over one real Redis. Without a fallback, a
// busy machine changes no number.
func overRedis(t *testing.T, n int) []weir.Store {
	t.Helper()
	server := redistest.Start(t)
	stores := make([]weir.Store, n)
	for i := range stores {
		s, err := redisstore.Open("redis://"+server.Addr, redisstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		stores[i] = s
	}
	return stores
}

// Both programs use one Redis, and go on without it.
func TestOpenStore(t *testing.T) {
	t.Parallel()
	if _, _, err := OpenStore("no URL", 2); err == nil {
		t.Error("a wrong URL: no error")
	}
	if _, _, err := OpenStore("redis://localhost", -1); err == nil {
		t.Error("a wrong number of replicas: no error")
	}
	server := redistest.Start(t)
	var limiters []*weir.Limiter
	for range 2 {
		s, stop, err := OpenStore("redis://"+server.Addr, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = stop() }()
		l, err := weir.New(weir.Config{Name: "api", Store: s, Limits: []weir.Limit{weir.PerHour(100)}})
		if err != nil {
			t.Fatal(err)
		}
		limiters = append(limiters, l)
	}
	decides := func(l *weir.Limiter, degraded bool) weir.Decision {
		for range 1000 {
			d, err := l.Allow(t.Context(), "key")
			if err != nil || !d.Allowed {
				t.Fatalf("%+v, %v", d, err)
			}
			if d.Degraded == degraded {
				return d
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("no decision with Degraded %v", degraded)
		return weir.Decision{}
	}
	first := decides(limiters[0], false)
	if second := decides(limiters[1], false); second.Remaining >= first.Remaining {
		t.Errorf("%d remaining after %d: nothing is shared", second.Remaining, first.Remaining)
	}
	server.Kill()
	for _, l := range limiters {
		if d := decides(l, true); d.Remaining > 49 {
			t.Errorf("%d remaining without Redis, want a share of 50", d.Remaining)
		}
	}
}

func newProvider(t *testing.T, limits ...weir.Limit) *weirtest.Provider {
	t.Helper()
	p, err := weirtest.NewProvider(weirtest.ProviderConfig{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// send makes n calls of each client at once. It returns the number of calls that
// were sent, and the errors of the others.
func send(t *testing.T, clients []*http.Client, n int) (sent int, failed []error) {
	t.Helper()
	var mu sync.Mutex
	var calls sync.WaitGroup
	for _, client := range clients {
		for range n {
			calls.Go(func() {
				resp, err := client.Get("https://api.example.com/v1/things")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed = append(failed, err)
					return
				}
				_ = resp.Body.Close()
				sent++
			})
		}
	}
	calls.Wait()
	return sent, failed
}

// spacing returns the shortest time between two arrivals.
func spacing(p *weirtest.Provider) time.Duration {
	arrivals := p.Arrivals()
	shortest := time.Duration(1<<63 - 1)
	for i := 1; i < len(arrivals); i++ {
		shortest = min(shortest, arrivals[i].At.Sub(arrivals[i-1].At))
	}
	return shortest
}
