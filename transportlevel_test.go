package weir_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// scoped is a Transport with a token's limit within a host's, over one store in
// memory.
type scoped struct {
	tr          *weir.Transport
	token, host *weir.Limiter
	base        *scriptedBase
}

func newScoped(tb testing.TB, token, host weir.Limit, change ...func(*weir.TransportConfig)) *scoped {
	tb.Helper()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	limiter := func(name string, limit weir.Limit) *weir.Limiter {
		l, err := weir.New(weir.Config{Store: store, Limits: buckets(limit), Name: name})
		if err != nil {
			tb.Fatal(err)
		}
		return l
	}
	s := &scoped{token: limiter("token", token), host: limiter("host", host), base: &scriptedBase{steps: []scriptedStep{{status: 200}}}}
	cfg := weir.TransportConfig{
		Limiter: s.token,
		Key:     weir.KeyHeader("X-Token"),
		Levels:  []weir.TransportLevel{{Limiter: s.host, Key: weir.KeyHost()}},
		Base:    s.base,
	}
	for _, f := range change {
		f(&cfg)
	}
	if s.tr, err = weir.NewTransport(cfg); err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *scoped) do(tb testing.TB, ctx context.Context, token string) error {
	tb.Helper()
	req, body := transportPost(tb, ctx, "http://api.example/")
	if token != "" {
		req.Header.Set("X-Token", token)
	}
	resp, err := s.tr.RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if n := body.closed.Load(); n != 1 {
		tb.Errorf("the request's body was closed %d times", n)
	}
	return err
}

// state returns the store's decisions on both keys, as text.
func (s *scoped) state(tb testing.TB, token string) string {
	tb.Helper()
	t, err := s.token.Peek(context.Background(), token)
	if err != nil {
		tb.Fatal(err)
	}
	h, err := s.host.Peek(context.Background(), "http://api.example")
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("token: %d, %v; host: %d, %v", t.Remaining, t.ResetAfter, h.Remaining, h.ResetAfter)
}

func TestNewTransportRefusesLevels(t *testing.T) {
	t.Parallel()
	st := &transportStore{}
	l, other := transportLimiter(t, st), mustLimiter(weir.Config{Store: st, Limits: buckets(weir.Per(1, time.Second)), Name: "other"})
	for name, c := range map[string]struct {
		levels []weir.TransportLevel
		field  string
	}{
		"nil limiter":             {[]weir.TransportLevel{{Limiter: other, Key: weir.KeyHost()}, {}}, "TransportConfig.Levels[1].Limiter"},
		"nil key":                 {[]weir.TransportLevel{{Limiter: other}}, "TransportConfig.Levels[0].Key"},
		"zero limiter":            {[]weir.TransportLevel{{Limiter: new(weir.Limiter)}}, "TransportConfig.Levels[0].Limiter"},
		"the same limiter twice":  {[]weir.TransportLevel{{Limiter: l, Key: weir.KeyHost()}}, "TransportConfig.Levels[0].Limiter"},
		"two levels of a limiter": {[]weir.TransportLevel{{Limiter: other, Key: weir.KeyHost()}, {Limiter: other, Key: weir.KeyStatic("all")}}, "TransportConfig.Levels[1].Limiter"},
	} {
		tr, err := weir.NewTransport(weir.TransportConfig{Limiter: l, Key: weir.KeyHost(), Levels: c.levels})
		var ce *weir.ConfigError
		if tr != nil || !errors.As(err, &ce) || ce.Field != c.field {
			t.Errorf("%s: transport %v, error %v; want a ConfigError for %s", name, tr, err, c.field)
		}
	}
}

// TestScopesNarrowFirst: a request that waits for its token's slot books nothing of the
// host, so requests of other tokens pass.
func TestScopesNarrowFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScoped(t, weir.PerMinute(1), weir.PerMinute(10).WithBurst(1))
		start := time.Now()
		var mu sync.Mutex
		left := map[string][]time.Duration{}
		s.base.hold = func(_ int, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			left[r.Header.Get("X-Token")] = append(left[r.Header.Get("X-Token")], time.Since(start))
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := s.do(t, t.Context(), "A"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		// The host's slots are 6 s apart. A has had the first, and its others
		// come a minute apart.
		for i := 1; i <= 5; i++ {
			token := fmt.Sprint("B", i)
			if err := s.do(t, t.Context(), token); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			if want := time.Duration(i) * 6 * time.Second; left[token][0] != want {
				t.Errorf("%s left after %v, want %v", token, left[token][0], want)
			}
			mu.Unlock()
		}
		wg.Wait()
		if want := []time.Duration{0, time.Minute, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute}; !slices.Equal(left["A"], want) {
			t.Errorf("A left after %v, want %v", left["A"], want)
		}
	})
}

// TestScopesSkipNoKey: a request without a token counts for the host alone.
func TestScopesSkipNoKey(t *testing.T) {
	t.Parallel()
	for _, refuse := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newScoped(t, weir.PerMinute(1), weir.PerMinute(10), func(c *weir.TransportConfig) { c.SkipNoKey, c.Refuse = true, refuse })
			for range 2 {
				if err := s.do(t, t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.do(t, t.Context(), "A"); err != nil {
				t.Fatal(err)
			}
			if got, want := s.state(t, "A"), "token: 0, 1m0s; host: 7, 18s"; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	t.Run("not for other errors", func(t *testing.T) {
		t.Parallel()
		s := newScoped(t, weir.PerMinute(1), weir.PerMinute(10), func(c *weir.TransportConfig) { c.SkipNoKey = true })
		req, _ := transportPost(t, t.Context(), "http://api.example/")
		req.Header["X-Token"] = []string{"A", "B"}
		if _, err := s.tr.RoundTrip(req); !errors.Is(err, weir.ErrMalformedKey) {
			t.Error(err)
		}
	})
	t.Run("when no limit counts it", func(t *testing.T) {
		t.Parallel()
		store := &transportStore{err: errors.New("down")}
		for _, levels := range [][]weir.TransportLevel{nil, {{Limiter: transportLimiter(t, store), Key: weir.KeyStatic(""), SkipNoKey: true}}} {
			tr := transportOver(t, store, weir.TransportConfig{Base: transportOK, Key: weir.KeyHeader("X-Token"), SkipNoKey: true, Levels: levels})
			req, _ := transportPost(t, t.Context(), "http://api.example/")
			if _, err := tr.RoundTrip(req); err != nil {
				t.Error(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			req, body := transportPost(t, ctx, "http://api.example/")
			if _, err := tr.RoundTrip(req); !errors.Is(err, context.Canceled) || body.closed.Load() != 1 {
				t.Errorf("%v with a context that is over", err)
			}
		}
	})
}

// TestScopesCosts: each limit counts in its own units.
func TestScopesCosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScoped(t, weir.PerMinute(60), weir.PerMinute(60), func(c *weir.TransportConfig) {
			c.Levels[0].Cost = func(r *http.Request) (int64, error) { return r.ContentLength + 7, nil }
		})
		if err := s.do(t, t.Context(), "A"); err != nil {
			t.Fatal(err)
		}
		if got, want := s.state(t, "A"), "token: 59, 1s; host: 53, 7s"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// TestScopesChargeRedirects with a real client: a redirect takes a unit of the new host,
// and another of the token.
func TestScopesChargeRedirects(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(target.Close)
	source := httptest.NewServer(http.RedirectHandler(target.URL+"/there", http.StatusTemporaryRedirect))
	t.Cleanup(source.Close)
	network := &http.Transport{}
	t.Cleanup(network.CloseIdleConnections)
	s := newScoped(t, weir.PerHour(10), weir.PerHour(10), func(c *weir.TransportConfig) { c.Base, c.Key = network, weir.KeyStatic("A") })
	resp, err := (&http.Client{Transport: s.tr}).Post(source.URL, "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	var got []int64
	for _, l := range []struct {
		limiter *weir.Limiter
		key     string
	}{{s.token, "A"}, {s.host, source.URL}, {s.host, target.URL}} {
		d, err := l.limiter.Peek(t.Context(), l.key)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d.Remaining)
	}
	if want := []int64{8, 9, 9}; !reflect.DeepEqual(got, want) {
		t.Errorf("token, source and target have %v left, want %v", got, want)
	}
}

// TestScopesConcurrentUse: requests are cancelled at random. The limits hold, and at the
// end nothing is booked.
func TestScopesConcurrentUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		token, host := weir.PerSecond(5).WithBurst(5), weir.PerSecond(20).WithBurst(4)
		s := newScoped(t, token, host)
		var mu sync.Mutex
		var left []time.Duration
		start := time.Now()
		s.base.hold = func(int, *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			left = append(left, time.Since(start))
		}
		var wg sync.WaitGroup
		for i := range 20 {
			for j := range 30 {
				wg.Go(func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if j%2 == 0 {
						time.AfterFunc(time.Duration(i*j)*7*time.Millisecond, cancel)
					}
					if err := s.do(t, ctx, fmt.Sprint(i)); err != nil && !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		slices.Sort(left)
		for i := range left {
			// In any time d at most burst + rate·d leave.
			for j := i + 4; j < len(left); j++ {
				if n, most := int64(j-i+1), 4+int64((left[j]-left[i])*20/time.Second); n > most {
					t.Fatalf("%d left from %v to %v, at most %d may", n, left[i], left[j], most)
				}
			}
		}
		time.Sleep(time.Minute)
		for _, l := range []*weir.Limiter{s.token, s.host} {
			if queues, calls := l.Waiting(); queues != 0 || calls != 0 {
				t.Errorf("%d queues, %d calls wait", queues, calls)
			}
		}
	})
}

// TestScopesGiveBack: the wide limit does not admit a request. The units booked on the
// narrow limit come back, exactly.
func TestScopesGiveBack(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, c := range []struct {
		name    string
		change  func(*weir.TransportConfig)
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		token   weir.Limit
		waiting int // requests of other tokens that wait for the host
		want    func(error) bool
		after   time.Duration
	}{
		{name: "MaxWait", change: func(c *weir.TransportConfig) { c.MaxWait = 9 * time.Second },
			want: limitedBy("host", boundMaxWait)},
		{name: "MaxWait counts the narrow limit's wait", change: func(c *weir.TransportConfig) { c.MaxWait = 15 * time.Second },
			token: weir.PerMinute(10).WithBurst(1), waiting: 1, want: limitedBy("host", boundMaxWait), after: 6 * time.Second},
		{name: "Refuse", change: func(c *weir.TransportConfig) { c.Refuse = true }, want: limitedBy("host", boundNone)},
		{name: "deadline", ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 9*time.Second)
		}, want: limitedBy("host", boundDeadline)},
		{name: "cancelled while it waits", ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(4*time.Second, cancel)
			return ctx, cancel
		}, want: func(err error) bool { return errors.Is(err, context.Canceled) && !errors.Is(err, weir.ErrLimited) }, after: 4 * time.Second},
		{name: "cost that never fits", change: func(c *weir.TransportConfig) {
			c.Levels[0].Cost = func(*http.Request) (int64, error) { return 1000, nil }
		}, want: limitedBy("host", boundNone)},
		{name: "key error of the wide limit", change: func(c *weir.TransportConfig) { c.Levels[0].Key = weir.KeyHeader("X-Org") },
			want: func(err error) bool {
				return errors.Is(err, weir.ErrNoKey) && strings.Contains(err.Error(), "Levels[0].key")
			}},
		{name: "cost error of the wide limit", change: func(c *weir.TransportConfig) {
			c.Levels[0].Cost = func(*http.Request) (int64, error) { return 0, boom }
		}, want: func(err error) bool { return errors.Is(err, boom) }},
		{name: "negative cost of the wide limit", change: func(c *weir.TransportConfig) {
			c.Levels[0].Cost = func(*http.Request) (int64, error) { return -1, nil }
		}, want: func(err error) bool {
			var ce *weir.ConfigError
			return errors.As(err, &ce) && ce.Field == "TransportConfig.Levels[0].Cost"
		}},
		{name: "store failure of the wide limit", change: func(c *weir.TransportConfig) {
			c.Levels[0].Limiter = mustLimiter(weir.Config{Name: "api", Store: &transportStore{err: boom}, Limits: buckets(weir.PerSecond(1))})
		}, want: func(err error) bool { return errors.Is(err, weir.ErrStore) }},
		{name: "own MaxWait of the wide limit", change: func(c *weir.TransportConfig) {
			c.Levels[0].Limiter = mustLimiter(weir.Config{Store: &transportStore{delay: 10 * time.Second}, Limits: buckets(weir.PerSecond(1)),
				Name: "own", MaxWait: 9 * time.Second})
		}, want: limitedBy("own", boundMaxWait)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if c.token.Rate == 0 {
					c.token = weir.PerMinute(10)
				}
				var change []func(*weir.TransportConfig)
				if c.change != nil {
					change = append(change, c.change)
				}
				s := newScoped(t, c.token, weir.PerMinute(6).WithBurst(1), change...)
				// The host's next slot is 10 s away, the token's is free or, with
				// others waiting, 6 s.
				if _, err := s.host.Allow(t.Context(), "http://api.example"); err != nil {
					t.Fatal(err)
				}
				for range c.waiting {
					if _, err := s.token.Allow(t.Context(), "A"); err != nil {
						t.Fatal(err)
					}
					if _, err := s.host.Reserve(t.Context(), "http://api.example"); err != nil {
						t.Fatal(err)
					}
				}
				before := s.state(t, "A")
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if c.ctx != nil {
					ctx, cancel = c.ctx(ctx)
				}
				defer cancel()
				start := time.Now()
				err := s.do(t, ctx, "A")
				if err == nil || !c.want(err) {
					t.Errorf("error %v", err)
				}
				if took := time.Since(start); took != c.after || len(s.base.sent) != 0 {
					t.Errorf("after %v, %d sent", took, len(s.base.sent))
				}
				synctest.Wait()
				if after := s.state(t, "A"); c.after == 0 && after != before {
					t.Errorf("before: %s\nafter:  %s", before, after)
				}
				if d, err := s.token.Peek(t.Context(), "A"); err != nil || d.Remaining != c.token.Max() {
					t.Errorf("%d of the token's units remain, want all %d", d.Remaining, c.token.Max())
				}
				for _, l := range []*weir.Limiter{s.token, s.host} {
					if queues, calls := l.Waiting(); queues != 0 || calls != 0 {
						t.Errorf("%d queues, %d calls wait", queues, calls)
					}
				}
			})
		})
	}
}

func limitedBy(scope string, bound bound) func(error) bool {
	return func(err error) bool {
		var le *weir.LimitedError
		return errors.As(err, &le) && le.Scope == scope && boundOf(le) == bound
	}
}

func mustLimiter(cfg weir.Config) *weir.Limiter {
	l, err := weir.New(cfg)
	if err != nil {
		panic(err)
	}
	return l
}

// faulty is a Store with a fault.
type faulty struct{}

func (faulty) Take(context.Context, store.Request) (store.Decision, error) { panic("a fault") }

// TestScopesGiveBackAll of three, when the third refuses, and when it panics.
func TestScopesGiveBackAll(t *testing.T) {
	t.Parallel()
	for _, refuse := range []bool{false, true} {
		for _, panics := range []bool{false, true} {
			t.Run(fmt.Sprint("refuse ", refuse, ", panic ", panics), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					first, second, third := &transportStore{}, &transportStore{}, &transportStore{delay: time.Hour}
					limiter := func(name string, s weir.Store) *weir.Limiter {
						if panics && name == "third" {
							s = faulty{}
						}
						return mustLimiter(weir.Config{Store: s, Limits: buckets(weir.PerSecond(1)), Name: name, MaxWait: time.Minute})
					}
					tr, err := weir.NewTransport(weir.TransportConfig{
						Limiter: limiter("first", first), Key: weir.KeyHost(), Refuse: refuse, Base: transportUnused(t),
						Levels: []weir.TransportLevel{
							{Limiter: limiter("second", second), Key: weir.KeyHost()}, {Limiter: limiter("third", third), Key: weir.KeyHost()},
						},
					})
					if err != nil {
						t.Fatal(err)
					}
					req, body := transportPost(t, t.Context(), "http://api.example/")
					func() {
						defer func() {
							if got := recover(); (got != nil) != panics {
								t.Errorf("recovered %v", got)
							}
						}()
						if _, err := tr.RoundTrip(req); !errors.Is(err, weir.ErrLimited) {
							t.Error(err)
						}
					}()
					synctest.Wait()
					if first.cancels != 1 || second.cancels != 1 || third.cancels != 0 || body.closed.Load() != 1 {
						t.Errorf("gave back %d, %d and %d; body closed %d times", first.cancels, second.cancels, third.cancels, body.closed.Load())
					}
				})
			})
		}
	}
}

// TestScopesGiveBackOfASlowStore: a slow give-back holds no caller up for long.
func TestScopesGiveBackOfASlowStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &gcraStore{cancel: func(int) error { time.Sleep(time.Second); return nil }}
		var levels []weir.TransportLevel
		for _, s := range []weir.Store{&gcraStore{cancel: slow.cancel}, &transportStore{delay: time.Hour}} {
			levels = append(levels, weir.TransportLevel{Limiter: mustLimiter(weir.Config{Name: "api", Store: s, Limits: buckets(weir.PerSecond(1))}), Key: weir.KeyHost()})
		}
		tr, err := weir.NewTransport(weir.TransportConfig{
			Limiter: mustLimiter(weir.Config{Name: "api", Store: slow, Limits: buckets(weir.PerSecond(1))}),
			Key:     weir.KeyHost(), Base: transportUnused(t), Levels: levels, MaxWait: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		req, _ := transportPost(t, t.Context(), "http://api.example/")
		if _, err := tr.RoundTrip(req); !errors.Is(err, weir.ErrLimited) || time.Since(start) > 50*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if slow.cancels != 1 || len(slow.misused) > 0 {
			t.Errorf("%d given back, %v", slow.cancels, slow.misused)
		}
	})
}
