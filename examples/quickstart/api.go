package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// customer is somebody with an API key and a plan.
type customer struct {
	name, apiKey string
	plan         weir.Limit
}

var customers = []customer{
	{"free", "key-of-a-free-customer", weir.PerSecond(5).WithName("free")},
	{"pro", "key-of-a-pro-customer", weir.PerSecond(50).WithName("pro")},
}

// byKey finds who an API key belongs to, as a database would.
func byKey(apiKey string) (customer, bool) {
	for _, c := range customers {
		if c.apiKey == apiKey {
			return c, true
		}
	}
	return customer{}, false
}

// newAPI returns an API that limits each customer by plan.
func newAPI(store weir.Store, name string) (http.Handler, error) {
	// These limits are for limiters without plans; every request here has one.
	limiter, err := weir.New(weir.Config{Name: name, Store: store, Limits: []weir.Limit{customers[0].plan}})
	if err != nil {
		return nil, err
	}
	limit, err := middleware.New(middleware.Config{
		Limiter: limiter,
		// The store sees a keyed hash. All replicas need the same secret.
		Key: weir.KeyAPIKey("X-API-Key", []byte("a secret of this API")),
		Limits: func(r *http.Request) ([]weir.Limit, error) {
			c, _ := byKey(r.Header.Get("X-API-Key"))
			return []weir.Limit{c.plan}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := byKey(r.Header.Get("X-API-Key"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, "{\"hello\":%q}\n", c.name)
	})
	return authenticate(limit(hello)), nil
}

// authenticate turns unknown API keys away. It is outside the limiter, where an
// invented key would otherwise be counted as somebody new.
func authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := byKey(r.Header.Get("X-API-Key")); !ok {
			http.Error(w, "unknown API key", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// served is what a customer got.
type served struct {
	customer
	requests, ok, limited atomic.Int64
	took                  time.Duration // from the first request to the last
	sample200, sample429  string        // one response each, as it came
	err                   error
}

// most returns how many requests the plan admits at most in the time it took:
// the burst, and what the rate adds.
func (s *served) most() int64 {
	return s.plan.Max() + int64(s.took.Seconds()*float64(s.plan.Rate)/s.plan.Period.Seconds())
}

// hammer has every customer send requests at a steady pace, more than any plan
// allows, until ctx ends.
func hammer(ctx context.Context, url string, all []*served, every time.Duration) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	var done sync.WaitGroup
	for _, s := range all {
		done.Go(func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			start := time.Now()
			for ctx.Err() == nil && s.err == nil {
				s.err = s.request(client, url)
				s.took = time.Since(start)
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	done.Wait()
}

func (s *served) request(client *http.Client, url string) error {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-API-Key", s.apiKey)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	s.requests.Add(1)
	sample := &s.sample200
	switch resp.StatusCode {
	case http.StatusOK:
		s.ok.Add(1)
	case http.StatusTooManyRequests:
		s.limited.Add(1)
		sample = &s.sample429
	default:
		return fmt.Errorf("the API answered %s", resp.Status)
	}
	if *sample == "" {
		dump, err := httputil.DumpResponse(resp, true)
		*sample = string(dump)
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
