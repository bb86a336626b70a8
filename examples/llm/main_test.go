package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/internal/redistest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestPlay expects no refusal and a used-up output budget. Only batch calls wait for it.
func TestPlay(t *testing.T) {
	t.Parallel()
	for name, length := range map[string]time.Duration{"as the program": length, "a minute": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, err := newProvider()
				if err != nil {
					t.Fatal(err)
				}
				store, _, err := newStore("")
				if err != nil {
					t.Fatal(err)
				}
				r, err := play(t.Context(), store, "test", "http://llm.example", p.Transport(), length)
				if err != nil {
					t.Fatal(err)
				}
				interactive, batch, counts := r.kinds[0], r.kinds[1], p.Counts()
				if r.refused() > 0 || counts.Refused() > 0 || counts.Admitted != r.requests {
					t.Errorf("%d refused calls and %d served calls; the provider counts %+v", r.refused(), r.requests, counts)
				}
				// The end of the run cuts off one call of each worker at most.
				if interactive.waited > 0 || interactive.unsent > workers || interactive.sent < int(length/time.Second)*workers {
					t.Errorf("interactive calls: %+v", interactive)
				}
				if batch.waited == 0 || batch.unsent == 0 || batch.longest < time.Second {
					t.Errorf("batch calls: %+v", batch)
				}
				if share := r.share(r.output, limits.OTPM); share < 0.85 || share > 1 {
					t.Errorf("%.3f of the output budget is used", share)
				}
			})
		})
	}
}

// TestPlayOnRedis plays shortly over a Redis and a socket.
func TestPlayOnRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	store, closeStore, err := newStore("redis://" + server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore()
	url, closeProvider, err := startProvider()
	if err != nil {
		t.Fatal(err)
	}
	defer closeProvider()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	r, err := play(t.Context(), store, "test", url, base, 500*time.Millisecond)
	if err != nil || r.refused() > 0 || r.requests == 0 || server.Commands()["evalsha"] == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPlayFails(t *testing.T) {
	t.Parallel()
	store, _, err := newStore("")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no network")
	base := roundTripper(func(*http.Request) (*http.Response, error) { return nil, broken })
	if _, err := play(t.Context(), store, "test", "http://llm.example", base, time.Minute); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := play(ctx, store, "test", "http://llm.example", base, time.Minute); err != nil || r.requests > 0 {
		t.Errorf("interrupted: %+v, %v", r, err)
	}
	if _, _, err := newStore("http://"); err == nil {
		t.Error("no error for a URL that is no Redis's")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestPrint(t *testing.T) {
	t.Parallel()
	r := &result{kinds: make([]kind, 2), length: 6 * time.Second}
	r.add(0, outcome{status: 200})
	r.add(1, outcome{status: 429, wait: 1500 * time.Millisecond})
	r.add(1, outcome{wait: time.Second})
	r.output = 33_000
	var out bytes.Buffer
	r.print(&out)
	for _, want := range []string{
		"\ninteractive         1                        0        0          0.0s                    0\n",
		"\nbatch               1                        1        2          1.5s                    1\n",
		"\nrequests            1    0 %\n", "\noutput tokens   33000   50 %\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
