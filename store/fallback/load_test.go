package fallback_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/fallback"
)

const loadRate = 200 // requests per second

// service is an HTTP server behind the middleware, under constant load. It records the
// limiter's decision on each request.
type service struct {
	store   *fallback.Store
	server  *httptest.Server
	client  *http.Client
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	samples  []sample
	statuses map[int]int
	lost     []error
	changes  []time.Time
	causes   []string    // one per change
	last     atomic.Bool // the last decision was degraded
	degraded atomic.Int64
	late     []time.Duration // delays of the load's ticks
	most     int             // goroutines, less those of net/http
}

// asking counts the requests under way of all loads, and conns their connections.
var asking, conns atomic.Int64

// sample is the time that the limiter added to one request.
type sample struct {
	at   time.Time
	took time.Duration
}

// serve starts a service over a primary store, and its load.
func serve(t testing.TB, cfg fallback.Config) *service {
	v := &service{statuses: make(map[int]int)}
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.OnChange = func(c fallback.Change) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.changes, v.causes = append(v.changes, time.Now()), append(v.causes, fmt.Sprint(c.Err))
	}
	v.store = open(t, cfg)
	limiter, err := weir.New(weir.Config{
		Name: "api", Store: v.store, Limits: []weir.Limit{weir.PerSecond(1000)},
		Hook: func(_ context.Context, e weir.Event) {
			v.last.Store(e.Decision.Degraded)
			if e.Decision.Degraded {
				v.degraded.Add(1)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	limit, err := middleware.New(middleware.Config{
		Limiter: limiter, OnStoreFailure: middleware.FailClosed,
		Key: func(r *http.Request) (string, error) { return r.URL.Query().Get("key"), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	limited := limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	v.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		limited.ServeHTTP(w, r)
		v.note(sample{start, time.Since(start)})
	}))
	v.client = v.server.Client()
	v.client.Timeout = 30 * time.Second
	transport := v.client.Transport.(*http.Transport)
	transport.MaxIdleConnsPerHost = 100
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		conns.Add(1)
		return &counted{conn, sync.OnceFunc(func() { conns.Add(-1) })}, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	v.cancel = cancel
	v.running.Go(func() { v.load(ctx) })
	t.Cleanup(v.stop)
	return v
}

func (v *service) stop() {
	v.cancel()
	v.running.Wait()
	v.client.CloseIdleConnections()
	v.server.Close()
}

func (v *service) note(s sample) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.samples = append(v.samples, s)
}

// load sends requests at an even pace, whatever the outcome of earlier ones.
func (v *service) load(ctx context.Context) {
	ticks := time.NewTicker(time.Second / loadRate)
	defer ticks.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case due := <-ticks.C:
			v.mu.Lock()
			v.late = append(v.late, time.Since(due))
			v.mu.Unlock()
		}
		v.running.Go(func() { v.request(i) })
		if i%20 == 0 {
			v.mu.Lock()
			v.most = max(v.most, own())
			v.mu.Unlock()
		}
	}
}

// counted is a connection of the load that counts itself.
type counted struct {
	net.Conn
	closed func()
}

func (c *counted) Close() error {
	c.closed()
	return c.Conn.Close()
}

// own counts the goroutines apart from those of the load. How many the load has depends
// on the machine:
//
//	request      1, and 1 that waits for the client to leave
//	connection   1 of the server, and 2 of the client
func own() int {
	return runtime.NumGoroutine() - 2*int(asking.Load()) - 3*int(conns.Load())
}

func (v *service) request(i int) {
	asking.Add(1)
	defer asking.Add(-1)
	resp, err := v.client.Get(fmt.Sprintf("%s/?key=%d", v.server.URL, i%20))
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.lost = append(v.lost, err)
		return
	}
	v.statuses[resp.StatusCode]++
}

// well reports whether Redis decides.
func (v *service) well() bool { return v.store.State() == fallback.StateClosed && !v.last.Load() }

// goroutines returns the maximum since the last reset.
func (v *service) goroutines() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.most
}

// reset forgets all records so far.
func (v *service) reset() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.samples, v.statuses, v.lost, v.changes, v.causes, v.most, v.late = nil, make(map[int]int), nil, nil, nil, 0, nil
	v.degraded.Store(0)
}

// lag returns the 99th percentile of this process's delays at the load's ticks.
func (v *service) lag() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	slices.Sort(v.late)
	return v.late[len(v.late)*99/100]
}

// between returns the 50th and 99th percentile and the maximum of the times added to
// requests between two instants.
func (v *service) between(from, to time.Time) (p50, p99, most time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var took []time.Duration
	for _, s := range v.samples {
		if !s.at.Before(from) && s.at.Before(to) {
			took = append(took, s.took)
		}
	}
	if len(took) == 0 {
		return 0, 0, 0
	}
	slices.Sort(took)
	n := len(took)
	return took[n/2], took[n*99/100], took[n-1]
}

// eventually fails the test if cond stays false.
func eventually(t testing.TB, what string, cond func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !cond() {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("%s: not within 20 s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(start)
}
