package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

// TestRetryAfter checks that a client which sleeps for Retry-After is served
// next, whatever the limits.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	tests := [][]weir.Limit{
		{weir.PerSecond(1)},
		{weir.PerSecond(1000)},
		{weir.PerMinute(7)},
		{weir.Per(3, 1700*time.Millisecond).WithBurst(5)},
		{weir.Per(1, 365*24*time.Hour)},
		{weir.PerMinute(10).By(weir.SlidingWindow)},
		{weir.PerMinute(10).By(weir.SlidingCounter)},
		{weir.Per(10, 1234567*time.Microsecond).By(weir.FixedWindow)},
		{weir.PerHour(10).By(weir.AlignedWindow)},
		{weir.PerSecond(2), weir.PerMinute(9).By(weir.FixedWindow), weir.PerDay(20)},
	}
	for _, limits := range tests {
		t.Run(limits[0].Algorithm.String()+" "+limits[len(limits)-1].Policy(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				limit, err := middleware.New(middleware.Config{
					Limiter: httpcases.NewLimiter(t, httpcases.NewCounting(), limits...),
					Key:     weir.KeyStatic("all"),
				})
				if err != nil {
					t.Fatal(err)
				}
				h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
				for refusals := 0; refusals < 30; {
					w := serve(h)
					if w.Code == http.StatusOK {
						time.Sleep(3 * time.Microsecond)
						continue
					}
					refusals++
					seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
					if w.Code != http.StatusTooManyRequests || seconds < 1 || err != nil {
						t.Fatalf("status %d, headers %v", w.Code, w.Header())
					}
					time.Sleep(time.Duration(seconds) * time.Second)
					if w := serve(h); w.Code != http.StatusOK {
						t.Fatalf("refused again after %d s: %v", seconds, w.Header())
					}
				}
			})
		})
	}
}

func serve(h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	return w
}
