package howto

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// onePerMinute returns a limiter whose first call leaves at once, and no other in the test.
func onePerMinute(t *testing.T, store weir.Store) *weir.Limiter {
	t.Helper()
	l, err := weir.New(weir.Config{Name: "closing", Store: store, Limits: []weir.Limit{weir.Outbound(1, time.Minute)}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// onlyOneBooked waits until the store has no slot behind that of the first call. A slow
// store takes slots back after their calls have returned.
func onlyOneBooked(t *testing.T, l *weir.Limiter, key string) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		d, err := l.Peek(context.Background(), key)
		if err == nil && d.ResetAfter > 0 && d.ResetAfter <= 61*time.Second {
			return
		}
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%s: booked for %v, %v, want one slot of 61 s", key, d.ResetAfter, err)
		}
	}
}

// Of six requests one is served. Five wait when the server ends: they are answered after
// the grace, and another program finds their slots free.
func TestServeClosesDown(t *testing.T) {
	t.Parallel()
	stores := overRedis(t, 2)
	provider := newProvider(t)
	limiter := onePerMinute(t, stores[0])
	transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyStatic("provider"), Base: provider.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequestWithContext(r.Context(), http.MethodGet, "https://api.example.com/", nil)
		resp, err := client.Do(req)
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = resp.Body.Close()
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, terminate := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, server, l, 100*time.Millisecond) }()
	statuses := make(chan int, 6)
	visitor := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range cap(statuses) {
		go func() {
			resp, err := visitor.Get("http://" + l.Addr().String())
			if err != nil {
				statuses <- 0
				return
			}
			_ = resp.Body.Close()
			statuses <- resp.StatusCode
		}()
	}
	for waiting, _ := limiter.Stats(); waiting < 5; waiting, _ = limiter.Stats() {
		time.Sleep(time.Millisecond)
	}
	terminate()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	count := map[int]int{}
	for range cap(statuses) {
		count[<-statuses]++
	}
	if count[200] != 1 || count[503] != 5 {
		t.Errorf("statuses %v, want one 200 and five 503", count)
	}
	onlyOneBooked(t, onePerMinute(t, stores[1]), "provider")
}

func TestServeReturnsItsFailure(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := Serve(t.Context(), &http.Server{}, l, time.Second); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
}

// A job that has begun goes on to its end. Jobs that wait are not run.
func TestRunJobClosesDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := onePerMinute(t, shared(t, 1)[0])
		ctx, terminate := context.WithCancel(t.Context())
		results := make(chan error, 3)
		var jobs sync.WaitGroup
		for range cap(results) {
			jobs.Go(func() {
				results <- RunJob(ctx, limiter, "provider", func(ctx context.Context) error {
					time.Sleep(10 * time.Second)
					return ctx.Err()
				})
			})
		}
		time.Sleep(time.Second)
		terminate()
		start := time.Now()
		jobs.Wait()
		if took := time.Since(start); took != 9*time.Second {
			t.Errorf("closed down in %v, want the 9 s that are left of the job", took)
		}
		var ran, canceled int
		for range cap(results) {
			if err := <-results; err == nil {
				ran++
			} else if errors.Is(err, context.Canceled) {
				canceled++
			}
		}
		if ran != 1 || canceled != 2 {
			t.Errorf("%d jobs ran and %d were not begun, want 1 and 2", ran, canceled)
		}
		onlyOneBooked(t, limiter, "provider")
	})
}
