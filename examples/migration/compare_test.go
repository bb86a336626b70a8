package migration

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store/localstore"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func newStore(t *testing.T) weir.Store {
	t.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// arrivals returns the gaps between n arrivals, 50 ms on average: some at once, many
// close together, and a few after a long time.
func arrivals(seed uint64, n int) []time.Duration {
	r := rand.New(rand.NewPCG(seed, 0))
	gaps := make([]time.Duration, n)
	for i := range gaps {
		switch r.IntN(10) {
		case 0, 1, 2:
		case 9:
			gaps[i] = time.Duration(r.Int64N(300_000)) * time.Microsecond
		default:
			gaps[i] = time.Duration(r.Int64N(60_000)) * time.Microsecond
		}
	}
	return gaps
}

// admissions sends the same requests to both handlers at the same instants, and
// returns for each handler the requests that it admitted.
func admissions(before, after http.Handler, request func(i int) *http.Request, gaps []time.Duration) (of [2][]bool) {
	for i, gap := range gaps {
		time.Sleep(gap)
		for j, h := range []http.Handler{before, after} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, request(i))
			of[j] = append(of[j], w.Code == http.StatusOK)
		}
	}
	return of
}

// same fails the test if the handlers admit different requests. It also fails if they
// admit, or refuse, hardly any: then the comparison says nothing.
func same(t *testing.T, before, after http.Handler, request func(i int) *http.Request, gaps []time.Duration) {
	t.Helper()
	of := admissions(before, after, request, gaps)
	for i := range gaps {
		if of[0][i] != of[1][i] {
			t.Fatalf("request %d: admitted %v before, %v after", i, of[0][i], of[1][i])
		}
	}
	if n := count(of[0]); n < len(gaps)/10 || n > len(gaps)*9/10 {
		t.Fatalf("%d of %d requests were admitted: want other gaps", n, len(gaps))
	}
}

func count(admitted []bool) (n int) {
	for _, ok := range admitted {
		if ok {
			n++
		}
	}
	return n
}

func ok(http.ResponseWriter, *http.Request) {}

// get returns a visitor's request.
func get(int) *http.Request {
	return httptest.NewRequest(http.MethodGet, "/hello/ann", http.NoBody)
}

// departures sends requests through a RoundTripper, each on its own goroutine and after
// its gap, and returns the time of each departure since the start. Equal gaps give equal
// instants.
func departures(t *testing.T, gaps []time.Duration, through func(base http.RoundTripper) http.RoundTripper) []time.Duration {
	t.Helper()
	left := make([]time.Duration, len(gaps))
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		start := time.Now()
		transport := through(roundTrip(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			left[r.ContentLength-1] = time.Since(start)
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
		}))
		var calls sync.WaitGroup
		for i, gap := range gaps {
			time.Sleep(gap)
			calls.Go(func() {
				r := httptest.NewRequest(http.MethodPost, "https://api.example.com/", http.NoBody)
				r.ContentLength, r.Body = int64(i+1), nil // the length identifies the request
				if _, err := transport.RoundTrip(r); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // orders requests of one instant
		}
		calls.Wait()
	})
	return left
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// differ returns the maximum difference between two schedules.
func differ(a, b []time.Duration) (most time.Duration) {
	for i := range a {
		most = max(most, (a[i] - b[i]).Abs())
	}
	return most
}

// spacing returns the minimum time between two departures.
func spacing(left []time.Duration) time.Duration {
	left = slices.Sorted(slices.Values(left))
	shortest := left[len(left)-1]
	for i := 1; i < len(left); i++ {
		shortest = min(shortest, left[i]-left[i-1])
	}
	return shortest
}

// atOnce returns the maximum number of departures at one instant.
func atOnce(left []time.Duration) (most int) {
	counts := map[time.Duration]int{}
	for _, at := range left {
		counts[at]++
		most = max(most, counts[at])
	}
	return most
}
