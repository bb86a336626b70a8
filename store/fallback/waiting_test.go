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

// heard reports when a call reaches the store, and when it is answered: then it has its
// place among the waiting calls.
type heard struct{ *fallback.Store }

type hearKey struct{}

// hearer has functions for the steps of a call.
type hearer struct{ asked, answered func() }

func (h heard) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if of, ok := ctx.Value(hearKey{}).(hearer); ok {
		of.asked()
		defer of.answered()
	}
	return h.Store.Take(ctx, req)
}

// Calls that wait when an outage starts go on locally, or end at their deadline with an
// error that says which. None hangs, and calls of one process keep their order.
func TestWaitersInAnOutage(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]redistest.Fault{"refused": redistest.Refuse, "black hole": redistest.Blackhole} {
		for _, policy := range []fallback.Policy{fallback.Local, fallback.Closed} {
			t.Run(fmt.Sprint(name, " policy ", policy), func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				proxy := redistest.NewProxy(t, server.Addr)
				// A busy machine keeps this budget. Only the fault opens the breaker,
				// after the last call has come: later calls would overtake those that
				// wait for Redis.
				s := behind(t, server.Client(configure(proxy.Addr, false)), fallback.Config{Policy: policy, Budget: 2 * time.Second})
				limiter, err := weir.New(weir.Config{Name: "api", Store: heard{s}, Limits: []weir.Limit{weir.PerSecond(20).WithBurst(1)}})
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
					asked, answered := make(chan struct{}), make(chan struct{})
					call := hearer{sync.OnceFunc(func() { close(asked) }), sync.OnceFunc(func() { close(answered) })}
					wg.Go(func() {
						err := limiter.Wait(context.WithValue(ctx, hearKey{}, call), "k")
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
					<-asked
					if i < 20 {
						<-answered
					}
					time.Sleep(10 * time.Millisecond)
				}
				start := time.Now()
				wg.Wait()
				if took := time.Since(start); took > 20*time.Second {
					t.Errorf("the last waiter ended after %v", took)
				}
				// On a busy machine a goroutine may report late. The first local slot
				// goes to the first call that gives up Redis.
				if out := len(order) - inOrder(went[:]); out > 3 {
					t.Errorf("%d went out of order: %v", out, order)
				}
				last := -1
				for _, i := range order {
					last = max(last, i)
				}
				switch away := failures[fallback.ErrAway]; {
				case policy == fallback.Local && len(order) != 40:
					t.Errorf("%d of 40 went on, the others: %v", len(order), failures)
				case policy == fallback.Closed && (last >= 20 || len(order) != 20 || len(order)+away != 40):
					t.Errorf("%v of 40 went on, the others: %v", order, failures)
				}
			})
		}
	}
}

// inOrder returns the largest number of calls that left in the order of their arrival.
// Slots are 50 ms apart. Late calls that leave together may have any order.
func inOrder(went []time.Time) (most int) {
	longest := make([]int, len(went)) // of the orders that end with each call
	for i, at := range went {
		if at.IsZero() {
			continue
		}
		longest[i] = 1
		for j, before := range went[:i] {
			if !before.IsZero() && before.Sub(at) < 40*time.Millisecond {
				longest[i] = max(longest[i], longest[j]+1)
			}
		}
		most = max(most, longest[i])
	}
	return most
}

// A Transport waits for its calls too. Without time to wait, its error names our own
// limit.
func TestTransportInAnOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s := behind(t, server.Client(configure(proxy.Addr, false)), fallback.Config{})
	limiter, err := weir.New(weir.Config{Name: "api", Store: s, Limits: []weir.Limit{weir.PerSecond(10).WithBurst(1)}})
	if err != nil {
		t.Fatal(err)
	}
	transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost()})
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
	// On a busy machine those milliseconds may pass before any decision, or a unit comes
	// back before the call.
	const little = 10 * time.Millisecond
	for tries := 1; ; tries++ {
		start := time.Now()
		err := get(little)
		took := time.Since(start)
		if errors.Is(err, weir.ErrLimited) && !errors.Is(err, weir.ErrStore) {
			break
		}
		if err != nil && took < little || tries == 20 {
			t.Fatalf("without time to wait: %v after %v", err, took)
		}
		if err := get(5 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
}
