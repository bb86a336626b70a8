package weir_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// TestRetryInFlightUntilClosed: a response that is kept because the further
// attempt was not made is in flight as long as it is open. What can't be kept so
// its reader is told of.
func TestRetryInFlightUntilClosed(t *testing.T) {
	t.Parallel()
	const ahead = 64 << 10
	for name, test := range map[string]struct {
		size  int
		known bool // by a Content-Length
		read  int
	}{
		"no body":                {},
		"a short one":            {size: 1000, read: 1000},
		"a short one, known":     {size: 1000, known: true, read: 1000},
		"just what is read":      {size: ahead - 1, read: ahead - 1},
		"a byte more":            {size: ahead + 1, read: ahead},
		"a long one":             {size: 200_000, read: ahead},
		"a long one, known":      {size: 200_000, known: true},
		"one that is never over": {size: -1},
	} {
		for _, refuse := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					base := &retryBase{steps: []retryStep{{status: 503, body: retryText(max(test.size, 0))}}}
					var odd *oddBody
					tr, l := keptInFlight(t, refuse, transportFunc(func(r *http.Request) (*http.Response, error) {
						resp, err := base.RoundTrip(r)
						if test.known {
							resp.ContentLength = int64(test.size)
						}
						if test.size < 0 {
							_ = resp.Body.Close()
							odd = new(oddBody)
							resp.Body = odd
						}
						return resp, err
					}))
					resp, err := tr.RoundTrip(getRequest(t, t.Context()))
					if err != nil || resp.StatusCode != 503 || base.attempts() != 1 {
						t.Fatalf("%v, %v after %d attempts", resp, err, base.attempts())
					}
					synctest.Wait()
					lease, err := l.TryAcquireN(t.Context(), "key", 0)
					if err != nil {
						t.Fatal(err)
					}
					lease.Release()
					whole := test.read == test.size
					if open := base.open.Load(); !whole && open != 0 || odd != nil && odd.closed != 1 {
						t.Fatalf("%d bodies are open beside another call in flight", open)
					}
					body, err := io.ReadAll(resp.Body)
					if len(body) != test.read || whole != (err == nil) || !whole && !errors.Is(err, weir.ErrLimited) {
						t.Errorf("read %d bytes, %v; want %d, and to know of the rest", len(body), err, test.read)
					}
					_ = resp.Body.Close()
					base.check(t)
					synctest.Wait()
					if keys, _ := l.Flights(); keys != 0 {
						t.Errorf("%d keys are in flight", keys)
					}
				})
			})
		}
	}
}

// keptInFlight returns a Transport whose further attempts the limiter refuses.
func keptInFlight(t *testing.T, refuse bool, base http.RoundTripper) (*weir.Transport, *weir.Limiter) {
	l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerHour(1)}, InFlight: 1})
	return overLimiter(t, l, base, func(cfg *weir.TransportConfig) {
		cfg.Retry = weir.Retry{Times: 1, Backoff: time.Second}
		if cfg.Refuse = refuse; !refuse {
			cfg.MaxWait = 10 * time.Second
		}
	}), l
}
