package weir_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/upstream"
	"github.com/goweir/weir/weirtest"
)

// A token's limit within a host's: a request waits for its token first. So a token
// that has used up its own limit holds up no other token.
func ExampleTransportConfig_within() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	token, err := weir.New(weir.Config{Name: "token", Store: store, Limits: []weir.Limit{weir.Outbound(1, time.Hour)}})
	if err != nil {
		log.Fatal(err)
	}
	host, err := weir.New(weir.Config{Name: "host", Store: store, Limits: []weir.Limit{weir.Outbound(2, time.Hour)}})
	if err != nil {
		log.Fatal(err)
	}
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer api.Close()

	transport, err := weir.NewTransport(weir.TransportConfig{
		Limiter: token,
		Key:     weir.KeyBearer(nil),
		Levels:  []weir.TransportLevel{{Limiter: host, Key: weir.KeyHost()}},
		Refuse:  true,
	})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	for _, token := range []string{"ann", "ann", "bob", "eve"} {
		req, err := http.NewRequest(http.MethodGet, api.URL, nil)
		if err != nil {
			log.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := client.Do(req)
		if err != nil {
			_, why, _ := strings.Cut(err.Error(), "weir: ")
			why, _, _ = strings.Cut(why, ": ")
			fmt.Println(token, "refused by", why)
			continue
		}
		_ = resp.Body.Close()
		fmt.Println(token, resp.Status)
	}
	// Output:
	// ann 200 OK
	// ann refused by client-side limit 1-in-1h of token
	// bob 200 OK
	// eve refused by client-side limit 2-in-1h of host
}

// A provider counts each token and endpoint by itself. The key has all three parts,
// so a used-up endpoint stops neither another token nor another endpoint.
func ExampleTransportConfig_key() {
	limiter := exampleLimiter(weir.Outbound(1, time.Minute))
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer api.Close()

	endpoint := func(r *http.Request) (string, error) {
		if strings.HasPrefix(r.URL.Path, "/search/") {
			return "search", nil
		}
		return "core", nil
	}
	transport, err := weir.NewTransport(weir.TransportConfig{
		Limiter: limiter,
		Key:     weir.KeyJoin(weir.KeyHost(), weir.KeyAPIKey("Authorization", nil), endpoint),
		Refuse:  true,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, call := range []string{"ann /search/code", "ann /search/users", "ann /repos", "bob /search/code"} {
		who, path, _ := strings.Cut(call, " ")
		req, err := http.NewRequest(http.MethodGet, api.URL+path, nil)
		if err != nil {
			log.Fatal(err)
		}
		req.Header.Set("Authorization", "token "+who)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			fmt.Println(call, "refused:", errors.Is(err, weir.ErrLimited))
			continue
		}
		_ = resp.Body.Close()
		fmt.Println(call, resp.Status)
	}
	// Output:
	// ann /search/code 200 OK
	// ann /search/users refused: true
	// ann /repos 200 OK
	// bob /search/code 200 OK
}

// One process gets a 429, and no process calls before its Retry-After is over. The
// two clients here stand for two processes that share a store.
func ExampleTransport() {
	provider, err := weirtest.NewProvider(weirtest.ProviderConfig{})
	if err != nil {
		log.Fatal(err)
	}
	store, err := localstore.New(localstore.Config{}) // for several processes: redisstore
	if err != nil {
		log.Fatal(err)
	}
	client := func() *http.Client {
		limiter, err := weir.New(weir.Config{Name: "provider", Store: store, Limits: []weir.Limit{weir.Outbound(10, time.Second)}})
		if err != nil {
			log.Fatal(err)
		}
		transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Refuse: true, Base: provider.Transport()})
		if err != nil {
			log.Fatal(err)
		}
		return &http.Client{Transport: transport}
	}
	one, other := client(), client()

	provider.Refuse(1, time.Minute) // for a reason of its own
	for i, c := range []*http.Client{one, other} {
		resp, err := c.Get("https://api.example.com/v1/things")
		var limited *weir.LimitedError
		switch {
		case errors.As(err, &limited):
			fmt.Println(i, "not sent:", limited.Reason, "for", limited.RetryAfter.Round(time.Minute))
		case err != nil:
			log.Fatal(err)
		default:
			_ = resp.Body.Close()
			fmt.Println(i, resp.Status)
		}
	}
	// Output:
	// 0 429 Too Many Requests
	// 1 not sent: paused for 1m0s
}

// A person stops all processes for an hour, and lets them go on.
func ExampleLimiter_Pause() {
	limiter := exampleLimiter(weir.Outbound(10, time.Second))
	ctx := context.Background()
	if err := limiter.Pause(ctx, "https://api.example.com", time.Hour); err != nil {
		log.Fatal(err)
	}
	d, err := limiter.Allow(ctx, "https://api.example.com")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Allowed, d.Reason, d.RetryAfter.Round(time.Minute))

	if err := limiter.Resume(ctx, "https://api.example.com"); err != nil {
		log.Fatal(err)
	}
	d, err = limiter.Allow(ctx, "https://api.example.com")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Allowed, d.Reason)
	// Output:
	// false paused 1h0m0s
	// true allowed
}

// remaining returns the units left of a key. A slow machine may settle in the
// background, so remaining waits for the expected number.
func remaining(l *weir.Limiter, key string, expected int64) int64 {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		d, err := l.Peek(context.Background(), key)
		if err != nil {
			log.Fatal(err)
		}
		if d.Remaining == expected || time.Now().After(end) {
			return d.Remaining
		}
	}
}

// A response header has the real cost of a request.
func ExampleSettleFunc() {
	limiter := exampleLimiter(weir.Outbound(5000, time.Hour))
	provider, err := weirtest.NewProvider(weirtest.ProviderConfig{
		Hook: func(h http.Header, _ *http.Request, _ weirtest.Answer) { h.Set("X-Query-Cost", "12") },
	})
	if err != nil {
		log.Fatal(err)
	}
	transport, err := weir.NewTransport(weir.TransportConfig{
		Limiter: limiter,
		Key:     weir.KeyHost(),
		Base:    provider.Transport(),
		Cost:    func(*http.Request) (int64, error) { return 100, nil }, // the most that a query costs
		Settle: func(resp *http.Response, _ *weir.BodyEnd) (int64, bool) {
			cost, err := strconv.ParseInt(resp.Header.Get("X-Query-Cost"), 10, 64)
			return cost, err == nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Get("https://api.example.com/query")
	if err != nil {
		log.Fatal(err)
	}
	_ = resp.Body.Close()
	fmt.Println(remaining(limiter, "https://api.example.com", 4988))
	// Output: 4988
}

// The limit counts bytes per minute. Their number is known when a body has ended.
func ExampleSettleFunc_bytes() {
	limiter := exampleLimiter(weir.Outbound(1<<20, time.Minute))
	provider, err := weirtest.NewProvider(weirtest.ProviderConfig{})
	if err != nil {
		log.Fatal(err)
	}
	transport, err := weir.NewTransport(weir.TransportConfig{
		Limiter: limiter,
		Key:     weir.KeyHost(),
		Base:    provider.Transport(),
		Cost:    func(*http.Request) (int64, error) { return 64 << 10, nil },
		Settle: func(_ *http.Response, end *weir.BodyEnd) (int64, bool) {
			if end == nil {
				return 0, false // not known yet
			}
			return end.Bytes, true
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Get("https://api.example.com/export")
	if err != nil {
		log.Fatal(err)
	}
	_ = resp.Body.Close() // No byte of it was read.
	fmt.Println(1<<20 - remaining(limiter, "https://api.example.com", 1<<20))
	// Output: 0
}

// At most two requests are in flight, in all processes together, at any rate. A
// request is in flight until its response's body is closed or read to its end.
func ExampleConfig_inFlight() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	provider, err := weirtest.NewProvider(weirtest.ProviderConfig{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{
		Name:     "provider",
		Store:    store,
		Limits:   []weir.Limit{weir.Outbound(10, time.Second)},
		InFlight: 2,
	})
	if err != nil {
		log.Fatal(err)
	}
	transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Refuse: true, Base: provider.Transport()})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	for range 3 {
		resp, err := client.Get("https://api.example.com/v1/things")
		var limited *weir.LimitedError
		switch {
		case errors.As(err, &limited):
			fmt.Println("not sent:", limited.Reason)
		case err != nil:
			log.Fatal(err)
		default:
			defer resp.Body.Close()
			fmt.Println(resp.Status)
		}
	}
	// Output:
	// 200 OK
	// 200 OK
	// not sent: in_flight
}

// A nightly import takes the units that other calls leave, and always leaves a fifth.
func ExampleInBackground() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{
		Name:    "provider",
		Store:   store,
		Limits:  []weir.Limit{weir.Outbound(10, time.Hour)},
		Reserve: 20, // percent of each limit, which imports leave to users
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	imports, users := 0, 0
	for range 10 {
		d, err := limiter.Allow(weir.InBackground(ctx), "key")
		if err != nil {
			log.Fatal(err)
		}
		if d.Allowed {
			imports++
		}
	}
	for range 10 {
		d, err := limiter.Allow(ctx, "key")
		if err != nil {
			log.Fatal(err)
		}
		if d.Allowed {
			users++
		}
	}
	fmt.Println(imports, users)
	// Output: 8 2
}

// An upstream whose reset is in milliseconds under a name that does not say so. Its
// pauses may last an hour instead of a quarter of one.
func ExampleTransportConfig_upstream() {
	limiter := exampleLimiter(weir.Outbound(10, time.Second))
	transport, err := weir.NewTransport(weir.TransportConfig{
		Limiter: limiter, // its Config.MaxPause bounds pauses too
		Key:     weir.KeyHost(),
		Upstream: &upstream.Reader{
			MaxPause: time.Hour,
			Dialects: map[string]upstream.Dialect{"api.example.com": upstream.Fields{
				Limit: "X-Quota-Limit", Remaining: "X-Quota-Left", Reset: "X-Quota-Reset", Unit: time.Millisecond,
			}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	_ = &http.Client{Transport: transport}
}
