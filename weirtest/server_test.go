package weirtest_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

func server(tb testing.TB, cfg weirtest.ProviderConfig) *weirtest.Server {
	tb.Helper()
	s, err := weirtest.NewServer(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func TestServer(t *testing.T) {
	t.Parallel()
	s := server(t, weirtest.ProviderConfig{Limits: []weir.Limit{weir.PerHour(1)}})
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		res, err := s.Client().Get(s.URL + "/any")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%d, want %d", res.StatusCode, want)
		}
	}
	if got := s.Counts(); got.Admitted != 1 || got.RefusedByLimit != 1 {
		t.Errorf("counts %+v", got)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if res, err := s.Client().Get(s.URL); err == nil {
		res.Body.Close()
		t.Error("a closed server answered")
	}
}

// Close ends requests being served, for the client and for the handler.
func TestServerCloseEndsRequests(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	s := server(t, weirtest.ProviderConfig{
		Hook:    func(http.Header, *http.Request, weirtest.Answer) { close(arrived) },
		Latency: func(*http.Request) time.Duration { return time.Hour },
	})
	failed := make(chan error, 1)
	var all sync.WaitGroup
	all.Go(func() {
		res, err := s.Client().Get(s.URL)
		if err == nil {
			res.Body.Close()
		}
		failed <- err
	})
	<-arrived
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
	all.Wait()
	if got := s.Counts().InFlight; got != 0 {
		t.Errorf("%d in flight after Close", got)
	}
}

// A request without its client is no longer in flight.
func TestServerClientThatLeaves(t *testing.T) {
	t.Parallel()
	arrived, left := make(chan struct{}), make(chan struct{})
	s := server(t, weirtest.ProviderConfig{
		Hook: func(_ http.Header, r *http.Request, _ weirtest.Answer) {
			close(arrived)
			context.AfterFunc(r.Context(), func() { close(left) })
		},
		Latency: func(*http.Request) time.Duration { return time.Hour },
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := s.Client().Do(req); !errors.Is(err, context.Canceled) {
		if err == nil {
			res.Body.Close()
		}
		t.Errorf("error %v, want context.Canceled", err)
	}
	<-left
}

func TestServersConcurrently(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			s, err := weirtest.NewServer(weirtest.ProviderConfig{})
			if err != nil {
				t.Error(err)
				return
			}
			var clients sync.WaitGroup
			for range 3 {
				clients.Go(func() {
					for {
						res, err := s.Client().Get(s.URL)
						if err != nil {
							return // it was closed
						}
						res.Body.Close()
					}
				})
			}
			for s.Counts().Arrived() < 10 {
				time.Sleep(time.Millisecond)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			clients.Wait()
		})
	}
	all.Wait()
}
