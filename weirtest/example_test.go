package weirtest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

// A provider as strict as the real one judges a client that refuses calls over its
// limit. The package's documentation has a client that waits, tested in a bubble of
// testing/synctest.
func ExampleProvider_Transport() {
	provider, err := weirtest.NewProvider(weirtest.ProviderConfig{
		Limits: []weir.Limit{weir.PerHour(2).By(store.SlidingWindow)},
	})
	if err != nil {
		log.Fatal(err)
	}
	st, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{Name: "provider", Store: st, Limits: []weir.Limit{weir.Outbound(2, time.Hour)}})
	if err != nil {
		log.Fatal(err)
	}
	transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Refuse: true, Base: provider.Transport()})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	for range 3 {
		res, err := client.Get("https://api.example.com/v1/things")
		if err != nil {
			fmt.Println("not sent:", errors.Is(err, weir.ErrLimited))
			continue
		}
		res.Body.Close()
		fmt.Println(res.Status)
	}
	fmt.Println("refused by the provider:", provider.Counts().Refused())
	// Output:
	// 200 OK
	// 200 OK
	// not sent: true
	// refused by the provider: 0
}

// A provider that writes rate headers as GitHub does, and refuses on command.
func ExampleProvider_Refuse() {
	provider, err := weirtest.NewProvider(weirtest.ProviderConfig{
		Limits: []weir.Limit{weir.PerHour(5000).WithName("core").By(store.FixedWindow)},
		Status: http.StatusForbidden,
		Hook: func(h http.Header, _ *http.Request, a weirtest.Answer) {
			core, _ := a.Tightest()
			h.Set("X-RateLimit-Limit", strconv.FormatInt(core.Limit.Max(), 10))
			h.Set("X-RateLimit-Remaining", strconv.FormatInt(core.Remaining, 10))
			h.Set("X-RateLimit-Reset", strconv.FormatInt(a.Now.Add(core.ResetAfter).Unix(), 10))
			h.Set("X-RateLimit-Resource", core.Limit.Policy())
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	provider.Refuse(1, time.Minute) // a secondary limit: there is quota left
	client := &http.Client{Transport: provider.Transport()}
	for range 2 {
		res, err := client.Get("https://api.github.com/user")
		if err != nil {
			log.Fatal(err)
		}
		res.Body.Close()
		fmt.Printf("%d, remaining %s, retry after %q\n", res.StatusCode, res.Header.Get("X-RateLimit-Remaining"), res.Header.Get("Retry-After"))
	}
	// Output:
	// 403, remaining 5000, retry after "60"
	// 200, remaining 4999, retry after ""
}

// An API that fails closed answers 503 while its store is down.
func ExampleStore_failClosed() {
	store := weirtest.NewStore(nil)
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerMinute(60)}})
	if err != nil {
		log.Fatal(err)
	}
	limit, err := middleware.New(middleware.Config{
		Limiter:        limiter,
		Key:            weir.KeyHeader("X-Account"),
		OnStoreFailure: middleware.FailClosed,
	})
	if err != nil {
		log.Fatal(err)
	}
	api := limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))

	store.Next(weirtest.Pass(), weirtest.Fail(errors.New("dial tcp: connection refused")), weirtest.Refuse(30*time.Second))
	for range 3 {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-Account", "alice")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		fmt.Printf("%d, retry after %q\n", w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// 200, retry after ""
	// 503, retry after ""
	// 429, retry after "30"
}

// A step of the caller's own: the store is slow for one customer only.
func ExampleStep() {
	st := weirtest.NewStore(nil)
	st.Always(func(ctx context.Context, req store.Request, base store.Store) (store.Decision, error) {
		if req.Charges[0].Key == "alice" {
			return weirtest.Block()(ctx, req, base)
		}
		return base.Take(ctx, req)
	})
	limiter, err := weir.New(weir.Config{Name: "provider", Store: st, Limits: []weir.Limit{weir.PerMinute(60)}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	d, err := limiter.Allow(ctx, "bob")
	fmt.Println(d.Allowed, err)
	d, err = limiter.Allow(ctx, "alice")
	fmt.Println(d.Allowed, err)
	// Output:
	// true <nil>
	// false context deadline exceeded
}
