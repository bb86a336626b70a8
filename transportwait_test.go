package weir_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

// TestTransportErrorsThroughClient: an http.Client wraps errors in *url.Error and has a
// Timeout of its own. Its caller can still tell the errors apart.
func TestTransportErrorsThroughClient(t *testing.T) {
	t.Parallel()
	hang := transportFunc(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		_ = r.Body.Close()
		return nil, r.Context().Err()
	})
	for _, c := range []struct {
		name    string
		store   *transportStore
		cfg     weir.TransportConfig
		timeout time.Duration
		is      error
		bound   bound
		after   time.Duration
		taken   int
	}{
		{name: "timeout shorter than the wait", store: &transportStore{delay: time.Minute}, timeout: time.Second,
			is: weir.ErrLimited, bound: boundDeadline},
		{name: "MaxWait shorter than the wait", store: &transportStore{delay: time.Minute}, timeout: time.Hour,
			cfg: weir.TransportConfig{MaxWait: time.Second}, is: weir.ErrLimited, bound: boundMaxWait},
		{name: "refused at once", store: &transportStore{delay: time.Minute}, timeout: time.Hour,
			cfg: weir.TransportConfig{Refuse: true}, is: weir.ErrLimited, bound: boundNone},
		{name: "timeout in the base, after the wait", store: &transportStore{delay: time.Second}, timeout: 3 * time.Second,
			cfg: weir.TransportConfig{Base: hang}, is: context.DeadlineExceeded, after: 3 * time.Second, taken: 1},
		{name: "timeout in the store", store: &transportStore{block: true}, timeout: time.Second,
			is: context.DeadlineExceeded, after: time.Second},
		{name: "timeout in the store, refusing", store: &transportStore{block: true}, timeout: time.Second,
			cfg: weir.TransportConfig{Refuse: true}, is: context.DeadlineExceeded, after: time.Second},
		{name: "store down", store: &transportStore{err: errors.New("down")}, is: weir.ErrStore},
		{name: "store's own timeout", store: &transportStore{err: context.DeadlineExceeded}, is: weir.ErrStore},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if c.cfg.Base == nil {
					c.cfg.Base = transportUnused(t)
				}
				client := &http.Client{Transport: transportOver(t, c.store, c.cfg), Timeout: c.timeout}
				req, body := transportPost(t, t.Context(), "http://api.example/")
				start := time.Now()
				resp, err := client.Do(req)
				if resp != nil {
					t.Fatalf("response %v", resp)
				}
				for _, target := range []error{weir.ErrLimited, weir.ErrStore, context.Canceled, context.DeadlineExceeded} {
					if errors.Is(err, target) != (target == c.is) {
						t.Errorf("errors.Is(%v, %v) is %t", err, target, target != c.is)
					}
				}
				var le *weir.LimitedError
				if errors.As(err, &le) != (c.is == weir.ErrLimited) {
					t.Fatalf("error %v", err)
				}
				if le != nil && (le.RetryAfter != c.store.delay || boundOf(le) != c.bound || le.Key != "http://api.example" ||
					le.Scope != "out" || !strings.Contains(err.Error(), "client-side")) {
					t.Errorf("error %+v: %v", le, err)
				}
				if took := time.Since(start); took != c.after || len(c.store.granted) != c.taken || body.closed.Load() != 1 {
					t.Errorf("after %v, charged %v, body closed %d times", took, c.store.granted, body.closed.Load())
				}
			})
		})
	}
}

func TestTransportKeyErrorText(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]weir.KeyFunc{"missing": weir.KeyHeader("X-User"), "empty": weir.KeyStatic("")} {
		tr := transportOver(t, &transportStore{}, weir.TransportConfig{Base: transportUnused(t), Key: key})
		req, _ := transportPost(t, t.Context(), "http://api.example/")
		_, err := (&http.Client{Transport: tr}).Do(req)
		if !errors.Is(err, weir.ErrNoKey) || !strings.Contains(err.Error(), "weir: transport: key: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTransportWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &transportStore{delay: 3 * time.Second}
		start := time.Now()
		var left time.Duration
		tr := transportOver(t, store, weir.TransportConfig{
			Base: transportFunc(func(r *http.Request) (*http.Response, error) {
				left = time.Since(start)
				return transportOK(r)
			}),
			Cost:    func(*http.Request) (int64, error) { return 7, nil },
			MaxWait: 3 * time.Second,
		})
		req, body := transportPost(t, t.Context(), "http://api.example/")
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if left != store.delay || body.closed.Load() != 1 {
			t.Errorf("left after %v, body closed %d times", left, body.closed.Load())
		}
		if g := store.granted; len(g) != 1 || g[0].Key != "http://api.example" || g[0].Cost != 7 || g[0].Scope != "out" {
			t.Errorf("charged %+v", g)
		}
		if store.maxWaits[0] != 3*time.Second {
			t.Errorf("asked for at most %v", store.maxWaits[0])
		}
	})
}

func TestTransportUsesLimitersMaxWait(t *testing.T) {
	t.Parallel()
	store := &transportStore{delay: time.Hour}
	l, err := weir.New(weir.Config{Name: "api", Store: store, Limits: buckets(weir.PerSecond(1)), MaxWait: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ own, want time.Duration }{{0, 2 * time.Second}, {time.Minute, time.Minute}} {
		tr, err := weir.NewTransport(weir.TransportConfig{Limiter: l, Key: weir.KeyHost(), Base: transportUnused(t), MaxWait: c.own})
		if err != nil {
			t.Fatal(err)
		}
		req, _ := transportPost(t, t.Context(), "http://api.example/")
		var le *weir.LimitedError
		if _, err := tr.RoundTrip(req); !errors.As(err, &le) || boundOf(le) != boundMaxWait {
			t.Errorf("error %v", err)
		}
		if got := store.maxWaits[len(store.maxWaits)-1]; got != c.want {
			t.Errorf("MaxWait %v: asked for at most %v", c.own, got)
		}
	}
}

func TestTransportCancelWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &transportStore{delay: time.Hour}
		client := &http.Client{Transport: transportOver(t, store, weir.TransportConfig{Base: transportUnused(t)})}
		ctx, cancel := context.WithCancel(t.Context())
		req, body := transportPost(t, ctx, "http://api.example/")
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := client.Do(req)
		if !errors.Is(err, context.Canceled) || errors.Is(err, weir.ErrLimited) || errors.Is(err, weir.ErrStore) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if time.Since(start) != time.Second || body.closed.Load() != 1 || store.cancels != 1 {
			t.Errorf("after %v, body closed %d times, %d slots given back", time.Since(start), body.closed.Load(), store.cancels)
		}
	})
}

// TestMaxWaitOfAllLevels: an error of a wide limit has the longest wait of the request, also
// after a wait for the narrow limit. The longest wait of a level's own limiter stays.
func TestMaxWaitOfAllLevels(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ all, own, want time.Duration }{
		"the request's": {time.Second, 0, time.Second}, "the level's": {0, 50 * ms, 50 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				narrow := onLocal(t, weir.Config{Name: "narrow", Limits: []weir.Limit{weir.Per(1, 900*ms).WithBurst(1)}})
				wide := onLocal(t, weir.Config{Name: "wide", Limits: []weir.Limit{weir.Per(1, time.Hour).WithBurst(1)}, MaxWait: test.own})
				tr := overLimiter(t, narrow, answer("", nil), func(cfg *weir.TransportConfig) {
					cfg.MaxWait, cfg.Levels = test.all, []weir.TransportLevel{{Limiter: wide, Key: weir.KeyStatic("wide")}}
				})
				if _, err := tr.RoundTrip(getRequest(t, t.Context())); err != nil {
					t.Fatal(err)
				}
				_, err := tr.RoundTrip(getRequest(t, t.Context()))
				var limited *weir.LimitedError
				if !errors.As(err, &limited) || limited.Scope != "wide" || limited.MaxWait != test.want {
					t.Errorf("got %v, want a refusal by wide with a longest wait of %v", err, test.want)
				}
			})
		})
	}
}

// TestShortWindowIsUsed: resets in whole seconds look long beside a window of two
// seconds. A lowered limit is still used fully.
func TestShortWindowIsUsed(t *testing.T) {
	t.Parallel()
	full := weir.Per(40, 2*time.Second).By(weir.SlidingWindow)
	low := weir.Per(16, 2*time.Second).By(weir.SlidingWindow)
	for name, dialect := range map[string]dialects.Dialect{
		"draft 11": dialects.Draft11, "x-ratelimit, epoch": dialects.XRateLimitEpoch,
		"x-ratelimit, delta": dialects.XRateLimitDelta, "openai": dialects.OpenAI,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(300 * time.Millisecond) // not at a whole second
				f := newFleet(t, 3, weirtest.ProviderConfig{
					Limits: []weir.Limit{full}, Hook: dialect, Latency: func(*http.Request) time.Duration { return time.Millisecond },
				}, weir.Per(40, 2100*time.Millisecond).WithBurst(1))
				go f.send(t, 4, 35*time.Second)
				time.Sleep(5 * time.Second)
				if err := f.provider.SetLimits(low); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				before := f.provider.Counts()
				time.Sleep(20 * time.Second)
				after := f.provider.Counts()
				n := after.Admitted - before.Admitted
				t.Logf("%d admitted in 20 s, of 160", n)
				if n < 104 || after.Refused() != before.Refused() {
					t.Errorf("%d admitted in 20 s at 16 in 2 s, %d refused", n, after.Refused()-before.Refused())
				}
				time.Sleep(20 * time.Second)
			})
		})
	}
}

// TestNeverFitsAtOnce: a call whose cost never fits waits for nothing: no narrower level,
// no room in flight, and no earlier call of the background class.
func TestNeverFitsAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	limits := []weir.Limit{plenty, weir.PerMinute(6).WithBurst(2)}
	for name, call := range map[string]func(t *testing.T, s weir.Store) error{
		"behind a narrower level": func(t *testing.T, s weir.Store) error {
			narrow := newLimiter(t, s, func(c *weir.Config) { c.Name, c.Limits = "narrow", buckets(weir.PerMinute(1)) })
			tr, err := weir.NewTransport(weir.TransportConfig{
				Limiter: narrow, Key: weir.KeyStatic("key"), Base: transportUnused(t),
				Levels: []weir.TransportLevel{{
					Limiter: newLimiter(t, s, func(c *weir.Config) { c.Limits = buckets(limits...) }), Key: weir.KeyStatic("key"),
					Cost: func(*http.Request) (int64, error) { return 3, nil },
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := narrow.Wait(ctx, "key"); err != nil {
				t.Fatal(err)
			}
			req, _ := transportPost(t, ctx, "http://api.example/")
			_, err = tr.RoundTrip(req)
			return err
		},
		"Acquire while too many are in flight": func(t *testing.T, s weir.Store) error {
			l := newFlightLimiter(t, s, 1, func(c *weir.Config) { c.Limits = limits })
			defer acquire(t, l, "key").Release()
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			_, err := l.AcquireN(ctx, "key", 3)
			return err
		},
		"TryAcquire while too many are in flight": func(t *testing.T, s weir.Store) error {
			l := newFlightLimiter(t, s, 1, func(c *weir.Config) { c.Limits = limits })
			defer acquire(t, l, "key").Release()
			_, err := l.TryAcquireN(ctx, "key", 3)
			return err
		},
		"behind a background call": func(t *testing.T, s weir.Store) error {
			l := newLimiter(t, s, func(c *weir.Config) { c.Limits = limits })
			background, cancel := context.WithCancel(weir.InBackground(ctx))
			defer cancel()
			if err := l.WaitN(background, "key", 2); err != nil {
				t.Fatal(err)
			}
			go func() { _ = l.WaitN(background, "key", 2) }()
			synctest.Wait()
			return l.WaitN(background, "key", 3)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := call(t, newHeldStore(t))
				e, ok := errors.AsType[*weir.LimitedError](err)
				if !ok || e.Reason != weir.ReasonNeverFits || e.RetryAfter != store.Never || e.Scope != "api" || e.Limit.Max() != 2 {
					t.Errorf("error %v, want one that names a maximum of 2", err)
				}
				if took := time.Since(start); took > 10*time.Millisecond {
					t.Errorf("the error came after %v, want at once", took)
				}
				time.Sleep(time.Minute) // for the last release
			})
		})
	}
}
