package fallback_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// behind returns a store over Redis, through a client.
func behind(t testing.TB, client redis.UniversalClient, cfg fallback.Config) *fallback.Store {
	t.Helper()
	primary, err := redisstore.New(redisstore.Config{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Primary = primary
	return open(t, cfg)
}

// A process that starts while Redis is away serves at once, and uses Redis soon after it
// comes up.
func TestStartWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for name, fault := range map[string]redistest.Fault{"refused": redistest.Refuse, "black hole": redistest.Blackhole} {
		for _, configured := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				proxy := redistest.NewProxy(t, server.Addr)
				proxy.Set(fault)
				start := time.Now()
				s := behind(t, server.Client(configure(proxy.Addr, configured)), fallback.Config{})
				// The promise is 10 ms. Connecting would take longer.
				t.Logf("the constructors took %v", time.Since(start))
				if proxy.Accepted() != 0 {
					t.Error("a constructor connected")
				}
				for range 200 {
					if d := take(t, s, charge(name, 1, store.Per(1000, time.Hour))); !d.Allowed || !d.Degraded {
						t.Fatalf("%+v", d)
					}
					time.Sleep(5 * time.Millisecond)
				}
				proxy.Set(redistest.Pass)
				took := eventually(t, "Redis is not used", func() bool {
					return !take(t, s, charge(name, 1, store.Per(1000000, time.Hour))).Degraded
				})
				// See TestBackWithinOneProbe and TestFirstProbeFindsRedis.
				t.Logf("used after %v", took)
			})
		}
	}
}

// A decision whose answer comes too late was made once. Neither the client nor the
// fallback sends it again.
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]redistest.Fault{
		"late": redistest.Delay(60 * time.Millisecond), "cut": redistest.CutMidReply(3), "corrupt": redistest.Corrupt(0),
	} {
		for _, configured := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				proxy := redistest.NewProxy(t, server.Addr)
				s := behind(t, server.Client(configure(proxy.Addr, configured)), fallback.Config{})
				req, look := charge("k", 1, store.Per(10000, 1000*time.Hour)), charge("k", 0, store.Per(10000, 1000*time.Hour))
				direct, err := redisstore.New(redisstore.Config{Client: server.Client()})
				if err != nil {
					t.Fatal(err)
				}
				// On a busy machine a call may not reach Redis in its budget.
				for used, attempts := int64(0), 0; used == 0; attempts++ {
					proxy.Set(redistest.Pass)
					eventually(t, "Redis is not used", func() bool { return !take(t, s, req).Degraded })
					time.Sleep(200 * time.Millisecond) // All is restored.
					before := take(t, direct, look).Remaining
					proxy.Set(fault)
					if d := take(t, s, req); !d.Degraded || !d.Allowed {
						t.Errorf("%+v", d)
					}
					time.Sleep(500 * time.Millisecond)
					// The local decision is restored, once. The late decision counts as
					// well.
					if used = before - take(t, direct, look).Remaining; used > 2 || used == 0 && attempts == 5 {
						t.Fatalf("Redis counts the call %d times", used)
					}
				}
			})
		}
	}
}

// Under Closed a failure of Redis is a 503 without details, never a 429.
func TestClosedAnswers503(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := behind(t, server.Client(configure(server.Addr, true)), fallback.Config{Policy: fallback.Closed})
	var told []error
	limiter, err := weir.New(weir.Config{Name: "api", Store: s, Limits: []weir.Limit{weir.PerHour(1000)}})
	if err != nil {
		t.Fatal(err)
	}
	limit, err := middleware.New(middleware.Config{
		Limiter: limiter, OnStoreFailure: middleware.FailClosed,
		Key:     func(*http.Request) (string, error) { return "k", nil },
		OnError: func(_ *http.Request, err error) { told = append(told, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Kill()
	for i := range 20 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		body := w.Body.String()
		if w.Code != http.StatusServiceUnavailable || strings.Contains(body, "refused") || strings.Contains(body, "primary") || strings.Contains(body, server.Addr) {
			t.Fatalf("answer %d: %d %s", i, w.Code, body)
		}
	}
	for _, err := range told {
		if !errors.Is(err, weir.ErrStore) || !errors.Is(err, fallback.ErrAway) || errors.Is(err, weir.ErrLimited) {
			t.Errorf("OnError got %v", err)
		}
	}
	if len(told) != 20 {
		t.Errorf("OnError ran %d times", len(told))
	}
	server.Restart()
	eventually(t, "Redis is not used", func() bool {
		d, err := limiter.Allow(context.Background(), "k")
		return err == nil && !d.Degraded
	})
}
