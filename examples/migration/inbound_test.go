package migration

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ratelimit "github.com/JGLTechnologies/gin-rate-limit"
	"github.com/gin-gonic/gin"
	"github.com/labstack/echo/v4"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/goweir/weir"
)

// These stores start goroutines that never end. They start before the tests, so they are
// no leak, and outside of bubbles. Each run of a test has users of its own.
var (
	runs       atomic.Int64
	ululeStore = memory.NewStore()
	ginStore   = ratelimit.InMemoryStore(&ratelimit.InMemoryOptions{Rate: 10 * time.Second, Limit: 5})
)

type userKey struct{}

func userOf(ctx context.Context) (string, bool) {
	user, ok := ctx.Value(userKey{}).(string)
	return user, ok
}

// newUser returns requests of a new user, with the same header, context and address.
func newUser() func(i int) *http.Request {
	n := runs.Add(1)
	return func(i int) *http.Request {
		r := get(i)
		name := "user " + strconv.FormatInt(n, 10)
		r.Header.Set("X-User", name)
		r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:4711", n>>16&255, n>>8&255, n&255)
		return r.WithContext(context.WithValue(r.Context(), userKey{}, name))
	}
}

func TestSameAdmissions(t *testing.T) {
	for _, c := range []struct {
		name     string
		handlers func(store weir.Store) (before, after http.Handler)
		scale    time.Duration // of the gaps
	}{
		{"echo", func(s weir.Store) (before, after http.Handler) {
			return inEcho(echoBefore()), inEcho(must(echoAfter(s)))
		}, 1},
		{"throttled", func(s weir.Store) (before, after http.Handler) {
			return must(throttledBefore())(http.HandlerFunc(ok)), must(throttledAfter(s))(http.HandlerFunc(ok))
		}, 1},
		{"tollbooth", func(s weir.Store) (before, after http.Handler) {
			return tollboothBefore(ok), must(tollboothAfter(s, ok))
		}, 2},
		{"ulule", func(s weir.Store) (before, after http.Handler) {
			user := func(r *http.Request) string { return r.Header.Get("X-User") }
			return must(ululeBefore(ululeStore, user))(http.HandlerFunc(ok)), must(ululeAfter(s, userOf))(http.HandlerFunc(ok))
		}, 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				before, after := c.handlers(newStore(t))
				gaps := arrivals(3, 1000)
				for i := range gaps {
					gaps[i] *= c.scale
				}
				same(t, before, after, newUser(), gaps)
			})
		})
	}
}

func inEcho(limit echo.MiddlewareFunc) http.Handler {
	e := echo.New()
	e.Use(limit)
	e.GET("/*", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	return e
}

func inGin(limit gin.HandlerFunc) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.GET("/*path", limit, func(c *gin.Context) { c.Status(http.StatusOK) })
	return e
}

// Throttled's headers are those of HeadersX, with the same Retry-After.
func TestThrottledHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := must(throttledBefore())(http.HandlerFunc(ok))
		after := must(throttledAfter(newStore(t)))(http.HandlerFunc(ok))
		request := newUser()
		for i := range 7 {
			var got [2]http.Header
			for j, h := range []http.Handler{before, after} {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, request(i))
				got[j] = w.Header()
			}
			for _, name := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Retry-After"} {
				if got[0].Get(name) != got[1].Get(name) {
					t.Errorf("request %d: %s %q before, %q after", i, name, got[0].Get(name), got[1].Get(name))
				}
			}
		}
	})
}

// Httprate rounds its estimate to whole requests, so a few more or fewer pass.
func TestHttprateRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var before http.Handler = http.HandlerFunc(ok)
		chain := httprateBefore()
		for i := range chain {
			before = chain[len(chain)-1-i](before)
		}
		after := must(httprateAfter(newStore(t)))(http.HandlerFunc(ok))
		request := func(i int) *http.Request {
			r := get(i)
			r.RemoteAddr = "10.0.0.1:4711"
			r.Header.Set("X-Forwarded-For", "198.51.100.1, 203.0.113.7")
			return r
		}
		gaps := arrivals(4, 4000)
		for i := range gaps {
			gaps[i] *= 5
		}
		of := admissions(before, after, request, gaps)
		most, sum := 0, 0
		for i := range gaps {
			sum += count(of[0][i:i+1]) - count(of[1][i:i+1])
			most = max(most, sum, -sum)
		}
		if n := count(of[0]); most == 0 || most > n/100 || n < 1000 || n > 3500 {
			t.Errorf("of %d requests %d were admitted before and %d after, at most %d apart: want up to 1 %%", len(gaps), n, count(of[1]), most)
		}
	})
}

// Gin-rate-limit starts the time anew at each admitted request, so it refuses a client
// below its limit.
func TestGinRateLimitRefusesBelowItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, after := inGin(ginRateLimitBefore(ginStore)), inGin(must(ginRateLimitAfter(newStore(t))))
		gaps := make([]time.Duration, 40)
		for i := range gaps {
			gaps[i] = 2500 * time.Millisecond // 4 per 10 s, 5 are allowed
		}
		// The store sweeps by the real clock: once a minute, and when it starts. A sweep forgets
		// the user, so the second run is right if the first is not.
		var b, a int
		for run := 0; run < 2 && b != 25; run++ {
			of := admissions(before, after, newUser(), gaps)
			b, a = count(of[0]), count(of[1])
		}
		if b != 25 || a != 40 {
			t.Errorf("%d of 40 requests were admitted before and %d after, want 25 and 40", b, a)
		}
	})
}

// Go-limiter reads the runtime's clock, which no bubble replaces.
func TestGoLimiter(t *testing.T) {
	t.Parallel()
	const interval = 400 * time.Millisecond
	limit, store, err := goLimiterBefore(interval)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close(context.Background()) }() // ends its goroutine
	before := limit(http.HandlerFunc(ok))
	after := must(goLimiterAfter(newStore(t), interval))(http.HandlerFunc(ok))
	for attempt := 0; ; attempt++ {
		start := time.Now()
		request, none := newUser(), make([]time.Duration, 8)
		first := admissions(before, after, request, none)
		took := time.Since(start)
		time.Sleep(interval + 20*time.Millisecond)
		second := admissions(before, after, request, none)
		if took+time.Since(start) > interval*5/4 && attempt < 10 {
			continue // The machine is busy, and windows may have ended.
		}
		for _, of := range [][2][]bool{first, second} {
			if b, a := count(of[0]), count(of[1]); b != 5 || a != 5 {
				t.Errorf("%d of 8 requests were admitted before and %d after, want 5 and 5", b, a)
			}
		}
		return
	}
}
