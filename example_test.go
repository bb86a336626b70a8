package weir_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

// exampleLimiter returns a limiter over a store of its own.
func exampleLimiter(limits ...weir.Limit) *weir.Limiter {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := weir.New(weir.Config{Name: "api", Store: store, Limits: limits})
	if err != nil {
		log.Fatal(err)
	}
	return l
}

func ExampleNew() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{
		Name:   "api",
		Store:  store,
		Limits: []weir.Limit{weir.PerSecond(10).WithBurst(20), weir.PerDay(100_000)},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(limiter.Config().Limits)

	_, err = weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerSecond(0)}})
	fmt.Println(err)
	// Output:
	// [10-in-1s 100000-in-1d]
	// weir: Config.Limits[0].Rate: want 1 to 2^50, got 0
}

func ExampleLimiter_Allow() {
	limiter := exampleLimiter(weir.PerHour(2))
	for range 3 {
		d, err := limiter.Allow(context.Background(), "alice")
		if err != nil {
			log.Fatal(err) // the store failed; a refusal is no error
		}
		fmt.Println(d.Allowed, d.Remaining)
	}
	// Output:
	// true 1
	// true 0
	// false 0
}

func ExampleLimiter_Wait() {
	limiter := exampleLimiter(weir.PerSecond(100).WithBurst(1))
	for i := range 3 {
		// The second and the third call each wait for their slot, 10 ms after
		// the one before.
		if err := limiter.Wait(context.Background(), "alice"); err != nil {
			log.Fatal(err)
		}
		fmt.Println("call", i)
	}
	// Output:
	// call 0
	// call 1
	// call 2
}

// A wait that would pass the context's deadline fails at once.
func ExampleLimiter_Wait_deadline() {
	limiter := exampleLimiter(weir.PerHour(1))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(limiter.Wait(ctx, "alice"))

	err := limiter.Wait(ctx, "alice")
	var limited *weir.LimitedError
	if errors.As(err, &limited) {
		fmt.Println(limited.Limit, limited.PastDeadline)
	}
	// Output:
	// <nil>
	// 1-in-1h true
}

func ExampleLimiter_Reserve() {
	limiter := exampleLimiter(weir.PerHour(1))
	ctx := context.Background()
	now, err := limiter.Reserve(ctx, "alice")
	if err != nil {
		log.Fatal(err)
	}
	later, err := limiter.Reserve(ctx, "alice")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(now.Delay(), later.Delay().Round(time.Hour))

	// An hour is too long: the slot goes back.
	if err := later.Cancel(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 0s 1h0m0s
}

func ExampleLimiter_Do() {
	limiter := exampleLimiter(weir.PerSecond(100))
	err := limiter.Do(context.Background(), "reports", func(context.Context) error {
		fmt.Println("one job of a hundred per second")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: one job of a hundred per second
}

// metrics stands for your program's counters.
type metrics struct {
	mu     sync.Mutex
	counts map[string]int
}

func (m *metrics) count(name string, labels ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[fmt.Sprintf("%s%v", name, labels)]++
}

func ExampleHook() {
	m := &metrics{counts: make(map[string]int)}
	// Labels need bounded values. A key is not bounded, and may be personal data.
	hook := func(_ context.Context, e weir.Event) {
		switch e.Kind {
		case weir.EventDecision:
			m.count("decisions", e.Scope, e.Result(), e.Decision.Source)
		case weir.EventWait:
			m.count("waits", e.Scope, e.Result()) // e.Took is for a histogram
		case weir.EventStoreCall:
			if errors.Is(e.Err, weir.ErrStore) {
				m.count("store errors", e.Scope, e.Op)
			}
		}
	}

	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerHour(2)}, Hook: hook})
	if err != nil {
		log.Fatal(err)
	}
	for range 5 {
		if _, err := limiter.Allow(context.Background(), "alice"); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(m.counts)
	// Output:
	// map[decisions[api allowed store]:2 decisions[api limited store]:3]
}

// observer stands for a promweir.Collector, a dashboard or otelweir.Instruments.
type observer struct{ events int }

func (o *observer) Observe(context.Context, weir.Event) { o.events++ }

// Two observers of one limiter.
func ExampleHook_two() {
	metrics, dash := new(observer), new(observer)
	both := func(ctx context.Context, e weir.Event) {
		metrics.Observe(ctx, e)
		dash.Observe(ctx, e)
	}
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerHour(2)}, Hook: both})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := limiter.Allow(context.Background(), "alice"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(metrics.events, dash.events)
	// Output: 1 1
}

// At most two reports of a customer are made at the same time, in all processes
// that share the store, and at most a hundred a minute.
func ExampleLimiter_Acquire() {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{
		Name:     "jobs",
		Store:    store,
		Limits:   []weir.Limit{weir.PerMinute(100)},
		InFlight: 2,
		Lease:    10 * time.Second, // when a process dies, its calls count for so long
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for i := range 3 {
		lease, err := limiter.TryAcquire(ctx, "customer 7")
		if err != nil {
			fmt.Println(i, "too many at once")
			continue
		}
		defer lease.Release()
		fmt.Println(i, "makes its report")
	}
	// Output:
	// 0 makes its report
	// 1 makes its report
	// 2 too many at once
}

// A load balancer in 10.0.0.0/8 appends the address of its peer. Addresses before
// that come from the client and are ignored.
func ExampleKeyClientIP() {
	key, err := weir.KeyClientIP(weir.ClientIP{
		Header:  "X-Forwarded-For",
		Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := httptest.NewRequest("GET", "/", nil)

	r.RemoteAddr = "10.0.0.3:4711"
	r.Header.Set("X-Forwarded-For", "192.0.2.1, 203.0.113.9")
	fmt.Println(key(r))

	// The header of any other peer is ignored.
	r.RemoteAddr = "198.51.100.4:4711"
	fmt.Println(key(r))
	// Output:
	// 203.0.113.9 <nil>
	// 198.51.100.4 <nil>
}

// An API key comes in a header or in the query. Its key is the same hash either way. A
// request with both is malformed.
func ExampleKeyAPIKey() {
	hash := weir.KeyAPIKey("X-API-Key", []byte("a secret of the API"))
	key := func(r *http.Request) (string, error) {
		keys := slices.Concat(r.Header.Values("X-API-Key"), r.URL.Query()["api_key"])
		return hash(&http.Request{Header: http.Header{"X-Api-Key": keys}})
	}
	fmt.Println(key(httptest.NewRequest("GET", "/things?api_key=k-1", nil)))
	fmt.Println(key(httptest.NewRequest("GET", "/things", nil)))

	r := httptest.NewRequest("GET", "/things", nil)
	r.Header.Set("X-API-Key", "k-1")
	fmt.Println(key(r))
	// Output:
	// 4JmDHarsDJlrLOVRBlmr5g <nil>
	//  weir: no key: the header X-Api-Key is missing or empty
	// 4JmDHarsDJlrLOVRBlmr5g <nil>
}

// Users are counted by their ID, and requests without a login by their address. The
// authentication runs first.
func ExampleKeyFirst() {
	type userKey struct{}
	key := weir.KeyFirst(
		weir.KeyContext(func(ctx context.Context) (string, bool) {
			id, ok := ctx.Value(userKey{}).(string)
			return id, ok
		}),
		weir.KeyRemoteIP(),
	)
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "203.0.113.9:4711"
	fmt.Println(key(r))
	fmt.Println(key(r.WithContext(context.WithValue(r.Context(), userKey{}, "u-1"))))
	// Output:
	// 1|203.0.113.9 <nil>
	// 0|u-1 <nil>
}

// complete stands for a call of a language model, whose response says how many tokens
// it used.
func complete(_ context.Context, prompt string) (tokens int64, err error) {
	return int64(len(strings.Fields(prompt))) * 100, nil
}

// A provider counts tokens, and only its answer says how many. The program books an
// estimate before the call, and corrects it afterwards.
func ExampleLimiter_DoN() {
	tokens := exampleLimiter(weir.PerDay(10_000))
	ctx := context.Background()
	for _, prompt := range []string{"tell me a joke", "explain to me how a token bucket that runs backwards works"} {
		err := tokens.DoN(ctx, "model", 1000, func(ctx context.Context) (int64, error) {
			return complete(ctx, prompt)
		})
		if err != nil {
			log.Fatal(err)
		}
		left, err := tokens.Peek(ctx, "model")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(left.Remaining)
	}
	// Output:
	// 9600
	// 8500
}

func ExampleReservation_Settle() {
	points := exampleLimiter(weir.PerDay(1000).By(weir.SlidingWindow))
	ctx := context.Background()
	r, err := points.ReserveN(ctx, "alice", 500)
	if err != nil {
		log.Fatal(err)
	}
	// The query runs, and its response says that it cost 120 points.
	if err := r.Settle(ctx, 120); err != nil {
		log.Fatal(err)
	}
	left, err := points.Peek(ctx, "alice")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(left.Remaining)
	// Output: 880
}
