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
		l, err := weir.New(weir.Config{Store: store, Limits: []weir.Limit{limit}, Name: name})
		if err != nil {
			tb.Fatal(err)
		}
		return l
	}
	s := &scoped{token: limiter("token", token), host: limiter("host", host), base: &scriptedBase{steps: []scriptedStep{{status: 200}}}}
	cfg := weir.TransportConfig{
		Limiter: s.token,
		Key:     weir.KeyHeader("X-Token"),
		Levels:  []weir.TransportLevel{{Limiter: s.host}},
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

// state is all that the store tells of both keys.
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
	l := transportLimiter(t, &transportStore{})
	for name, c := range map[string]struct {
		levels []weir.TransportLevel
		field  string
	}{
		"nil limiter":  {[]weir.TransportLevel{{Limiter: l}, {}}, "TransportConfig.Levels[1].Limiter"},
		"zero limiter": {[]weir.TransportLevel{{Limiter: new(weir.Limiter)}}, "TransportConfig.Levels[0].Limiter"},
	} {
		tr, err := weir.NewTransport(weir.TransportConfig{Limiter: l, Levels: c.levels})
		var ce *weir.ConfigError
		if tr != nil || !errors.As(err, &ce) || ce.Field != c.field {
			t.Errorf("%s: transport %v, error %v; want a ConfigError for %s", name, tr, err, c.field)
		}
	}
}

// TestScopesNarrowFirst: what waits for its token's slot books nothing on the
// host, so that others pass.
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
		if _, err := s.tr.RoundTrip(req); !errors.Is(err, weir.ErrAmbiguousKey) {
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

// TestScopesChargeRedirects with a real client: the new host's limit, and the
// token's again.
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

// TestScopesConcurrentUse: whatever is cancelled, the limits hold and in the end
// nothing is held.
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
