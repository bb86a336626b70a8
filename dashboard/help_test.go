package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// fleet is a Redis with a dashboard, and a limiter of another process: the limiter has
// its own store, and the dashboard is not its Hook.
type fleet struct {
	server  *redistest.Server
	client  *redis.Client
	dash    *Dashboard
	limiter *weir.Limiter
}

func newFleet(t *testing.T, cfg Config) *fleet {
	t.Helper()
	f := &fleet{server: redistest.Start(t)}
	f.client = f.server.Client(patient, redisstore.Configure)
	cfg.Client = f.client
	f.dash = newDashboard(t, cfg)
	f.limiter = newLimiter(t, f.client, "api", perMinute, nil)
	return f
}

// patience is the maximum wait for an answer or a change: a busy machine is no reason to fail.
const patience = 20 * time.Second

func patient(o *redis.Options) {
	o.DialTimeout, o.ReadTimeout, o.PoolTimeout = patience, patience, patience
}

var perMinute = weir.PerMinute(10)

func newDashboard(t *testing.T, cfg Config) *Dashboard {
	t.Helper()
	d, err := New(cfg)
	if err != nil {
		t.Error(err)
	}
	t.Cleanup(d.Close)
	return d
}

func newLimiter(t testing.TB, client *redis.Client, name string, limit weir.Limit, hook weir.Hook) *weir.Limiter {
	t.Helper()
	s, err := redisstore.New(redisstore.Config{Client: client})
	if err != nil {
		t.Error(err)
	}
	l, err := weir.New(weir.Config{Name: name, Store: s, Limits: []weir.Limit{limit}, Hook: hook})
	if err != nil {
		t.Error(err)
	}
	return l
}

// state asks the dashboard for its data.
func (f *fleet) state(t *testing.T) *frame { return stateOf(t, f.dash) }

func stateOf(t *testing.T, d *Dashboard) *frame {
	t.Helper()
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/state", nil))
	var got frame
	if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != 200 || err != nil {
		t.Fatalf("GET /state: %d %v\n%s", w.Code, err, w.Body)
	}
	return &got
}

// await asks for the data until it is right.
func (f *fleet) await(t *testing.T, want string, right func(*frame) bool) *frame {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		got := f.state(t)
		if right(got) {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("the page does not show %s:\n%s", want, encode(got))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// book books slots, like waiting calls of another process.
func book(t testing.TB, l *weir.Limiter, key string, calls int) {
	t.Helper()
	for range calls {
		if _, err := l.Reserve(context.Background(), key); err != nil {
			t.Error(err)
		}
	}
}

func ids(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("user:%d", i))
	}
	return keys
}
