package howto

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// replicas returns the handlers of an API in n programs.
func replicas(t *testing.T, stores []weir.Store) []http.Handler {
	t.Helper()
	handlers := make([]http.Handler, len(stores))
	for i := range handlers {
		limit, err := NewWindows(stores[i], []byte("a secret of the service"))
		if err != nil {
			t.Fatal(err)
		}
		handlers[i] = limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	}
	return handlers
}

// ask returns the status of a request with an API key, and its Retry-After.
func ask(h http.Handler, key string) (status, retryAfter int) {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	if key != "" {
		r.Header.Set("X-API-Key", key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	retryAfter, _ = strconv.Atoi(w.Header().Get("Retry-After"))
	return w.Code, retryAfter
}

// Bubbles of synctest start at 00:00:00 UTC, so the steps are times of the clock.
func TestWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		apis := replicas(t, shared(t, 2))
		start := time.Now()
		for i, c := range []struct {
			at         time.Duration
			key        string
			status     int
			retryAfter int
		}{
			{time.Second, "ann", 200, 0},
			{time.Second, "ann", 200, 0},
			{time.Second, "ann", 200, 0},
			{time.Second, "ann", 429, 4},
			{time.Second, "bob", 200, 0},
			{4999 * time.Millisecond, "ann", 429, 1},
			{5 * time.Second, "ann", 200, 0},
			{5 * time.Second, "ann", 200, 0},
			{5 * time.Second, "ann", 200, 0},
			{5 * time.Second, "ann", 429, 5},
			{7 * time.Second, "", 401, 0},
			{13 * time.Second, "ann", 200, 0},
		} {
			time.Sleep(time.Until(start.Add(c.at)))
			if status, after := ask(apis[i%2], c.key); status != c.status || after != c.retryAfter {
				t.Errorf("step %d at %v: %d, retry after %d s, want %d, %d s", i, c.at, status, after, c.status, c.retryAfter)
			}
		}
	})
}

// Each replica has a share of 3/2 while Redis is away, so 1.
func TestWindowsWhileRedisIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		apis := replicas(t, away(t, 2))
		for i, want := range []int{200, 200, 429, 429} {
			if status, _ := ask(apis[i%2], "ann"); status != want {
				t.Errorf("request %d: %d, want %d", i, status, want)
			}
		}
	})
}

func TestWindowsOverRedis(t *testing.T) {
	t.Parallel()
	apis := replicas(t, overRedis(t, 2))
	for attempt := 0; ; attempt++ {
		// A window that ends meanwhile would admit more.
		window := time.Now().Unix() / 5
		var admitted atomic.Int64
		var calls sync.WaitGroup
		for i := range 20 {
			calls.Go(func() {
				if status, _ := ask(apis[i%2], "key-"+strconv.Itoa(attempt)); status == http.StatusOK {
					admitted.Add(1)
				}
			})
		}
		calls.Wait()
		if time.Now().Unix()/5 != window && attempt < 5 {
			continue
		}
		if n := admitted.Load(); n != 3 {
			t.Errorf("%d of 20 requests were admitted in one window, want 3", n)
		}
		return
	}
}
