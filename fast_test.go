package weir_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// onPrepared returns a limiter on a store that prepares.
func onPrepared(t testing.TB, limit weir.Limit, configure ...func(*weir.Config)) *weir.Limiter {
	t.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := weir.Config{Store: s, Name: "prepared", Limits: []weir.Limit{limit}}
	for _, f := range configure {
		f(&cfg)
	}
	l, err := weir.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// unprepared hides the Prepare of a store.
type unprepared struct {
	weir.Store
	store.Canceler
}

// TestPreparedDecidesLikeItsStore, for every method and refusal. The Hook gets the
// same events.
func TestPreparedDecidesLikeItsStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []weir.Limit{weir.PerSecond(3), weir.PerSecond(3).By(weir.FixedWindow), weir.PerSecond(3).By(weir.SlidingCounter)} {
			var told [2][]string
			var limiters [2]*weir.Limiter
			for i := range limiters {
				limiters[i] = onPrepared(t, limit, func(cfg *weir.Config) {
					if i == 1 {
						s := cfg.Store.(*localstore.Store)
						cfg.Store = unprepared{s, s}
					}
					cfg.Hook = func(_ context.Context, e weir.Event) {
						if e.Kind != weir.EventStoreCall {
							e.Op, e.Took = "", 0 // The shorter way is no call.
							told[i] = append(told[i], fmt.Sprintf("%+v", e))
						}
					}
				})
			}
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			soon, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			for name, call := range map[string]func(l *weir.Limiter) (weir.Decision, error){
				"allowed":      func(l *weir.Limiter) (weir.Decision, error) { return l.Allow(context.Background(), "a") },
				"a cost":       func(l *weir.Limiter) (weir.Decision, error) { return l.AllowN(context.Background(), "b", 2) },
				"never":        func(l *weir.Limiter) (weir.Decision, error) { return l.AllowN(context.Background(), "c", 4) },
				"a look":       func(l *weir.Limiter) (weir.Decision, error) { return l.AllowN(context.Background(), "d", 0) },
				"negative":     func(l *weir.Limiter) (weir.Decision, error) { return l.AllowN(context.Background(), "e", -1) },
				"no key":       func(l *weir.Limiter) (weir.Decision, error) { return l.Allow(context.Background(), "") },
				"ended":        func(l *weir.Limiter) (weir.Decision, error) { return l.Allow(ended, "f") },
				"background":   func(l *weir.Limiter) (weir.Decision, error) { return l.AllowN(weir.InBackground(soon), "g", 3) },
				"wait":         func(l *weir.Limiter) (weir.Decision, error) { return weir.Decision{}, l.Wait(soon, "h") },
				"wait too far": func(l *weir.Limiter) (weir.Decision, error) { return weir.Decision{}, l.WaitN(soon, "i", 3) },
				"wait, ended":  func(l *weir.Limiter) (weir.Decision, error) { return weir.Decision{}, l.Wait(ended, "j") },
				"wait, no key": func(l *weir.Limiter) (weir.Decision, error) { return weir.Decision{}, l.Wait(soon, "") },
			} {
				for range 5 {
					var got [2]string
					for i, l := range limiters {
						d, err := call(l)
						got[i] = fmt.Sprintf("%+v, %v", d, err)
					}
					if got[0] != got[1] {
						t.Fatalf("%v, %s:\nprepared %s\nstore    %s", limit.Algorithm, name, got[0], got[1])
					}
				}
			}
			if fmt.Sprint(told[0]) != fmt.Sprint(told[1]) || len(told[0]) < 20 {
				t.Errorf("%v: the hook got\nprepared %v\nstore    %v", limit.Algorithm, told[0], told[1])
			}
		}
	})
}

// TestPreparedIsNotForCallsInFlight, which must have leases.
func TestPreparedIsNotForCallsInFlight(t *testing.T) {
	t.Parallel()
	l := onPrepared(t, weir.PerSecond(3), func(cfg *weir.Config) { cfg.InFlight = 1 })
	if _, err := l.Allow(context.Background(), "key"); !errors.Is(err, weir.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	lease, err := l.Acquire(context.Background(), "key")
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	if _, err := l.TryAcquire(context.Background(), "key"); !errors.Is(err, weir.ErrLimited) {
		t.Errorf("a second call in flight: %v", err)
	}
}

// TestFreeCallsAllocateNothing: a decision allocates nothing, nor does a wait or a
// Transport whose slot is free now.
func TestFreeCallsAllocateNothing(t *testing.T) {
	if long.Race {
		t.Skip("the race detector allocates")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp := &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}
	for _, limit := range []weir.Limit{weir.PerSecond(1 << 40).WithBurst(1 << 40), weir.PerDay(1 << 40).By(weir.FixedWindow), weir.PerDay(1 << 40).By(weir.SlidingCounter)} {
		l := onPrepared(t, limit)
		tr, err := weir.NewTransport(weir.TransportConfig{
			Limiter: l, Key: weir.KeyHost(), Base: transportFunc(func(*http.Request) (*http.Response, error) { return resp, nil }),
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, call := range map[string]func() error{
			"Allow":       func() error { _, err := l.Allow(ctx, "key"); return err },
			"AllowN":      func() error { _, err := l.AllowN(ctx, "key", 3); return err },
			"AllowLimits": func() error { _, err := l.AllowLimits(ctx, "other", 1, []weir.Limit{limit}); return err },
			"Peek":        func() error { _, err := l.Peek(ctx, "key"); return err },
			"Wait":        func() error { return l.Wait(ctx, "key") },
			"RoundTrip":   func() error { _, err := tr.RoundTrip(req); return err },
		} {
			if n := testing.AllocsPerRun(500, func() {
				if err := call(); err != nil {
					t.Error(err)
				}
			}); n != 0 {
				t.Errorf("%v, %s: %v allocations", limit.Algorithm, name, n)
			}
		}
	}
}

// freeStore admits everything at once, so a benchmark measures the limiter's own
// work.
type freeStore struct{}

func (freeStore) Take(context.Context, store.Request) (store.Decision, error) {
	return store.Decision{Allowed: true}, nil
}

func BenchmarkAllow(b *testing.B) {
	l := newLimiter(b, freeStore{})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Allow(ctx, "key"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWait(b *testing.B) {
	maxWaiters := func(c *weir.Config) { c.MaxWaiters = 1000 }
	b.Run("one key", func(b *testing.B) {
		l := newLimiter(b, freeStore{})
		ctx := context.Background()
		b.ReportAllocs()
		for b.Loop() {
			if err := l.Wait(ctx, "key"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("one key, parallel", func(b *testing.B) {
		l := newLimiter(b, freeStore{})
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := l.Wait(context.Background(), "key"); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("many keys, most waiters, parallel", func(b *testing.B) {
		l := newLimiter(b, freeStore{}, maxWaiters)
		keys := make([]string, 1024)
		for i := range keys {
			keys[i] = strconv.Itoa(i)
		}
		var next atomic.Int64
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := next.Add(97); pb.Next(); i++ {
				if err := l.Wait(context.Background(), keys[i%1024]); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// answering is a base that answers at once, always with the same response.
type answering http.Response

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) { return (*http.Response)(a), nil }

// silent are the headers of a response without any about limits.
var silent = http.Header{
	"Content-Type": {"application/json"}, "Content-Length": {"512"}, "Date": {"Mon, 02 Jan 2006 15:04:05 GMT"},
	"Cache-Control": {"no-store"}, "Vary": {"Accept-Encoding"}, "X-Request-Id": {"0123456789abcdef"}, "Server": {"nginx"},
	"Strict-Transport-Security": {"max-age=31536000"}, "X-Content-Type-Options": {"nosniff"}, "Etag": {`"abc"`}, "Connection": {"keep-alive"},
	"Link": {"<https://a.test/?page=2>; rel=next"},
}

// local returns a Transport whose requests need not wait, and a base that does nothing.
func local(tb testing.TB, header http.Header, ignore bool) (over *weir.Transport, base http.RoundTripper) {
	tb.Helper()
	base = &answering{StatusCode: http.StatusOK, Body: http.NoBody, Header: header}
	l := onPrepared(tb, weir.PerSecond(1).WithBurst(1e9))
	over, err := weir.NewTransport(weir.TransportConfig{Limiter: l, Key: weir.KeyHost(), Base: base, IgnoreUpstream: ignore})
	if err != nil {
		tb.Fatal(err)
	}
	return over, base
}

// TestTransportDoesNotAllocate for a request that is not settled, and whose response
// says nothing of limits.
func TestTransportDoesNotAllocate(t *testing.T) {
	over, _ := local(t, silent, false)
	req, err := http.NewRequest(http.MethodGet, "https://api.example.com/things/7", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(500, func() { _, _ = over.RoundTrip(req) }); n != 0 && !long.Race {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkTransportLocal sends requests that need not wait and are not settled, to a
// base that does nothing and to a Transport over it. The difference is the cost of a
// Transport. The difference of over and ignoring is the cost of reading responses.
func BenchmarkTransportLocal(b *testing.B) {
	for name, header := range map[string]http.Header{"no headers": {}, "none of limits": silent} {
		over, base := local(b, header, false)
		ignoring, _ := local(b, header, true)
		b.Run("base/"+name, func(b *testing.B) { roundTrips(b, base) })
		b.Run("ignoring/"+name, func(b *testing.B) { roundTrips(b, ignoring) })
		b.Run("over/"+name, func(b *testing.B) { roundTrips(b, over) })
	}
}

func roundTrips(b *testing.B, t http.RoundTripper) {
	req, err := http.NewRequest(http.MethodGet, "https://api.example.com/things/7", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.RoundTrip(req); err != nil {
			b.Fatal(err)
		}
	}
}
