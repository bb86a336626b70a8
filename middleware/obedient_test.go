package middleware_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// obedient is a client that follows the drafts: it takes the units that are left, and then
// waits for the time until there are more.
var obedient = map[middleware.HeaderStyle]func(t *testing.T, h http.Header) time.Duration{
	middleware.HeadersDraft11: func(t *testing.T, h http.Header) (wait time.Duration) {
		items, err := parseList(strings.Join(h.Values("RateLimit"), ", "))
		if err != nil || len(items) == 0 {
			t.Fatalf("%v: %v", h, err)
		}
		for _, it := range items {
			if it.params["r"] == 0 {
				wait = max(wait, time.Duration(it.params["t"])*time.Second)
			}
		}
		return wait
	},
	middleware.HeadersDraft6: func(t *testing.T, h http.Header) time.Duration {
		return untilReset(t, h, "RateLimit-")
	},
	middleware.HeadersX: func(t *testing.T, h http.Header) time.Duration {
		return untilReset(t, h, "X-RateLimit-")
	},
	middleware.HeadersXEpoch: func(t *testing.T, h http.Header) time.Duration {
		if d := untilReset(t, h, "X-RateLimit-"); d > 0 {
			return d - time.Duration(time.Now().Unix())*time.Second - time.Duration(time.Now().Nanosecond())
		}
		return 0
	},
}

func untilReset(t *testing.T, h http.Header, family string) time.Duration {
	remaining, err := strconv.Atoi(h.Get(family + "Remaining"))
	reset, err2 := strconv.Atoi(h.Get(family + "Reset"))
	if err != nil || err2 != nil {
		t.Fatalf("%v: %v, %v", h, err, err2)
	}
	if remaining > 0 {
		return 0
	}
	return time.Duration(reset) * time.Second
}

// TestObedientClients: a client that follows the headers is never refused, of several levels and
// mounts either. It waits for no longer than needed, in whole seconds. Sliding windows don't tell the
// time of the next unit: of these it may wait for the time of all.
func TestObedientClients(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		for style, follow := range obedient {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(style)))
				plan := func() (limits []weir.Limit) {
					for i := range 1 + rng.IntN(3) {
						l := weir.Per(1+rng.Int64N(40), time.Duration(1+rng.Int64N(120_000))*time.Millisecond).By(weir.Algorithm(rng.IntN(5)))
						if l.Algorithm == weir.GCRA && rng.IntN(2) == 0 {
							l = l.WithBurst(1 + rng.Int64N(2*l.Rate))
						}
						limits = append(limits, l.WithName(strconv.Itoa(i)))
					}
					return limits
				}
				store, h := newLocal(t), http.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
				limits := plan()
				limiter := on(t, store, "api", limits...)
				mount := func(cfg middleware.Config) {
					cfg.Key, cfg.Headers = weir.KeyStatic("ann"), style
					m, err := middleware.New(cfg)
					if err != nil {
						t.Fatal(err)
					}
					h = m(h)
				}
				cfg, alone := middleware.Config{Limiter: limiter}, false
				switch rng.IntN(3) {
				case 0:
					alone = true
				case 1:
					cfg.Levels = []middleware.Level{{Limiter: on(t, store, "team", plan()...), Key: weir.KeyStatic("blue")}}
				case 2:
					mount(middleware.Config{Limiter: on(t, store, "inner", plan()...)})
				}
				mount(cfg)
				pace := float64(rng.Int64N(2_000_000) * int64(time.Microsecond))
				for range 200 {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, request(t.Context()))
					if w.Code != http.StatusOK {
						t.Fatalf("seed %d: refused: %v under %+v", seed, w.Header(), limits)
					}
					if wait := follow(t, w.Header()); wait > 0 {
						if alone {
							checkWait(t, limiter, limits, wait, w.Header())
						}
						time.Sleep(wait)
					}
					if rng.IntN(2) == 0 {
						time.Sleep(time.Duration(rng.Float64() * pace))
					}
				}
			})
		}
	}
}

// checkWait checks that a wait is no longer than one of the limits needs, in whole seconds.
func checkWait(t *testing.T, limiter *weir.Limiter, plan []weir.Limit, wait time.Duration, h http.Header) {
	t.Helper()
	d, err := limiter.Allow(t.Context(), "ann")
	if err != nil || d.Allowed {
		t.Fatalf("%+v, %v after %v", d, err, h)
	}
	most := time.Duration(0)
	for i, l := range plan {
		c := d.Charge(i)
		needed := c.RetryAfter
		if c.Remaining == 0 && l.Algorithm == weir.SlidingWindow {
			needed = c.ResetAfter
		}
		if c.Remaining == 0 && l.Algorithm == weir.SlidingCounter {
			needed = c.ResetAfter - l.Period + l.Period/time.Duration(l.Rate)
		}
		most = max(most, needed)
	}
	if wait >= most+2*time.Second || wait < d.RetryAfter {
		t.Errorf("a wait of %v, want %v to %v, after %v", wait, d.RetryAfter, most, h)
	}
}
