package measure

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
)

// These are the cases of HTTP.
const (
	Middlewares = "middleware"
	Transports  = "transport"
	// Loaded is Middlewares in a process with the memory of a typical server. A process
	// with no memory in use collects its garbage a few hundred times per second, and each
	// time takes about as long.
	Loaded = "middleware, 64 MB in use"
)

const inUse = 64 << 20

// HTTP measures the overhead of middlewares and RoundTrippers: over a handler in the same
// framework, or a base, that does nothing.
func HTTP(r *Run) {
	mounted := r.those(func(c contender.Contender) bool { return c.Web.Mount != nil })
	wrapped := r.those(func(c contender.Contender) bool { return c.Transport != nil })
	limit := contender.Roomy(1)
	bases := contender.Bases()
	mount := func(name string) {
		for _, c := range mounted {
			base := func() (spent, error) { return serve(r, bases[c.Web.Framework]) }
			overOnce(r, name, c.Name, base, func(s *scope) (spent, error) {
				h, err := c.Web.Mount(s, limit, contender.Nothing)
				if err != nil {
					return spent{}, err
				}
				return serve(r, h)
			})
		}
	}
	r.passes(func() {
		mount(Middlewares)
		base := func() (spent, error) { return send(r, nothing{}) }
		for _, c := range wrapped {
			overOnce(r, Transports, c.Name, base, func(s *scope) (spent, error) {
				t, err := c.Transport(s, limit, nothing{})
				if err != nil {
					return spent{}, err
				}
				return send(r, t)
			})
		}
	})
	used := make([]byte, inUse)
	r.passes(func() { mount(Loaded) })
	runtime.KeepAlive(used)
}

// spent is the cost of one call.
type spent struct{ ns, allocs float64 }

// overOnce measures the base just before, as a machine's speed varies over time.
func overOnce(r *Run, name, who string, base func() (spent, error), measure func(*scope) (spent, error)) {
	if r.gaveUp(data.HTTP, name, who) {
		return
	}
	s := new(scope)
	defer s.close()
	var took, without spent
	err := within(10*time.Second, func(context.Context) (err error) {
		if without, err = base(); err != nil {
			return err
		}
		took, err = measure(s)
		return err
	})
	if err != nil {
		r.fail(data.HTTP, name, who, err)
		return
	}
	r.add(data.HTTP, name, who, data.Overhead, took.ns-without.ns)
	r.add(data.HTTP, name, who, data.OverAllocs, math.Round(took.allocs-without.allocs))
}

// repeat calls f for some time.
func repeat(r *Run, f func() error) (spent, error) {
	for range 1000 {
		if err := f(); err != nil {
			return spent{}, err
		}
	}
	lasts := size(r, 150*time.Millisecond, 5*time.Millisecond)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, start := 0, time.Now()
	for time.Since(start) < lasts {
		// Reading the clock takes as long as some of the calls, so it is rare.
		for range 256 {
			if err := f(); err != nil {
				return spent{}, err
			}
		}
		n += 256
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return spent{float64(took.Nanoseconds()) / float64(n), float64(after.Mallocs-before.Mallocs) / float64(n)}, nil
}

// discard is a ResponseWriter with a ready header map, as in a server.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// Request returns a function that sends a handler the same request again and again.
func Request(h http.Handler) func() error {
	request := httptest.NewRequest(http.MethodGet, "/things/7", http.NoBody)
	request.Header.Set(contender.KeyHeader, "customer-00000007")
	w := &discard{header: make(http.Header)}
	return func() error {
		clear(w.header)
		h.ServeHTTP(w, request)
		if w.status != 0 && w.status != http.StatusOK {
			return fmt.Errorf("status %d", w.status)
		}
		return nil
	}
}

func serve(r *Run, h http.Handler) (spent, error) { return repeat(r, Request(h)) }

// nothing is a base that answers at once. Each response is new, as transports wrap its
// body.
type nothing struct{}

var noHeader = make(http.Header)

func (nothing) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: noHeader}, nil
}

func send(r *Run, t http.RoundTripper) (spent, error) {
	request, err := http.NewRequest(http.MethodGet, "https://api.example.com/things/7", http.NoBody)
	if err != nil {
		return spent{}, err
	}
	return repeat(r, func() error {
		response, err := t.RoundTrip(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	})
}
