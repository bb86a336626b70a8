package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// heard tells that a call has got as far as the store. By then it has its place
// among the calls that wait.
type heard struct{ *fallback.Store }

type hearKey struct{}

func (h heard) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if f, ok := ctx.Value(hearKey{}).(func()); ok {
		f()
	}
	return h.Store.Take(ctx, req)
}

// Waiting calls that an outage catches go on locally or end by their deadline,
// with an error that says which; nothing hangs, and calls of one process keep
// their order.
func TestWaitersInAnOutage(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]redistest.Fault{"refused": redistest.Refuse, "black hole": redistest.Blackhole} {
		for _, policy := range []fallback.Policy{fallback.Local, fallback.Closed} {
			t.Run(fmt.Sprint(name, " policy ", policy), func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				proxy := redistest.NewProxy(t, server.Addr)
				// A busy machine keeps this budget, so only the fault opens the breaker.
				s := behind(t, server.Client(configure(proxy.Addr, false)), fallback.Config{Policy: policy, Budget: 500 * time.Millisecond})
				limiter, err := weir.New(weir.Config{Store: heard{s}, Limits: []weir.Limit{weir.PerSecond(20).WithBurst(1)}})
				if err != nil {
					t.Fatal(err)
				}
				eventually(t, "Redis is not used", func() bool {
					d, err := s.Take(context.Background(), charge("warm up", 1, store.Per(10000, time.Hour)))
					return err == nil && !d.Degraded
				})
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				var mu sync.Mutex
				var order []int
				var went [40]time.Time
				failures := make(map[error]int)
				var wg sync.WaitGroup
				for i := range 40 {
					if i == 20 {
						proxy.Set(fault)
					}
					arrived := make(chan struct{})
					wg.Go(func() {
						err := limiter.Wait(context.WithValue(ctx, hearKey{}, sync.OnceFunc(func() { close(arrived) })), "k")
						now := time.Now()
						mu.Lock()
						defer mu.Unlock()
						switch {
						case err == nil:
							order = append(order, i)
							went[i] = now
						case errors.Is(err, weir.ErrLimited):
							failures[weir.ErrLimited]++
						case errors.Is(err, weir.ErrStore) && errors.Is(err, fallback.ErrAway):
							failures[fallback.ErrAway]++
						case errors.Is(err, context.DeadlineExceeded):
							failures[context.DeadlineExceeded]++
						default:
							t.Errorf("waiter %d: %v", i, err)
						}
					})
					<-arrived
					time.Sleep(10 * time.Millisecond)
				}
				start := time.Now()
				wg.Wait()
				if took := time.Since(start); took > 20*time.Second {
					t.Errorf("the last waiter ended after %v", took)
				}
				// Slots are 50 ms apart. On a busy machine calls go several at once, in any
				// order, or a goroutine is late to say that it was admitted.
				overtaken, last := 0, -1
				var first time.Time // of all calls that arrived later
				for i := len(went) - 1; i >= 0; i-- {
					switch {
					case went[i].IsZero():
						continue
					case !first.IsZero() && went[i].Sub(first) > 40*time.Millisecond:
						overtaken++
					}
					if first.IsZero() || went[i].Before(first) {
						first = went[i]
					}
					last = max(last, i)
				}
				if overtaken > 3 {
					t.Errorf("%d were overtaken: %v", overtaken, order)
				}
				switch away := failures[fallback.ErrAway]; {
				case policy == fallback.Local && len(order) != 40:
					t.Errorf("%d of 40 went on, the others: %v", len(order), failures)
				case policy == fallback.Closed && (last >= 20 || len(order) < 10 || len(order)+away != 40):
					t.Errorf("%v of 40 went on, the others: %v", order, failures)
				}
			})
		}
	}
}

// A Transport is a waiting call too. Without time to wait it says that a limit
// of ours is why.
func TestTransportInAnOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s := behind(t, server.Client(configure(proxy.Addr, false)), fallback.Config{})
	limiter, err := weir.New(weir.Config{Store: s, Limits: []weir.Limit{weir.PerSecond(10).WithBurst(1)}})
	if err != nil {
		t.Fatal(err)
	}
	transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter})
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer upstream.Close()
	get := func(timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "GET", upstream.URL, nil)
		if err != nil {
			return err
		}
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for i := range 15 {
		if i == 5 {
			proxy.Set(redistest.Blackhole)
		}
		if err := get(5 * time.Second); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	// On a busy machine those milliseconds may be over before anybody decides.
	const little = 10 * time.Millisecond
	for tries := 1; ; tries++ {
		start := time.Now()
		err := get(little)
		took := time.Since(start)
		if errors.Is(err, weir.ErrLimited) && !errors.Is(err, weir.ErrStore) {
			break
		}
		if took < little || tries == 20 {
			t.Fatalf("without time to wait: %v after %v", err, took)
		}
		if err := get(5 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
}
