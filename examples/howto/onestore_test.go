package howto

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

type userKey struct{}

func userOf(ctx context.Context) (string, bool) {
	user, ok := ctx.Value(userKey{}).(string)
	return user, ok
}

// visits returns the number of n requests of a user that pass.
func visits(h http.Handler, user string, n int) (passed int) {
	for range n {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
		if w.Code == http.StatusOK {
			passed++
		}
	}
	return passed
}

// All three kinds at once, in two programs: none takes units of another.
func TestOneStore(t *testing.T) {
	for _, c := range []struct {
		name     string
		stores   func(*testing.T, int) []weir.Store
		api      int           // requests of a user that pass at once
		tasks    time.Duration // for 6 tasks of each of 2 businesses
		provider time.Duration // for 20 calls
	}{
		{"over one store", shared, 10, 2500 * time.Millisecond, 9 * 1050 * time.Millisecond},
		{"while Redis is away, on shares", away, 10, 2 * time.Second, 9 * 1050 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				upstream := newProvider(t, weir.PerSecond(2).By(weir.SlidingWindow))
				var programs []*Traffic
				var clients []*http.Client
				var apis []http.Handler
				for _, store := range c.stores(t, 2) {
					p, err := NewTraffic(store, userOf, upstream.Transport())
					if err != nil {
						t.Fatal(err)
					}
					programs, clients = append(programs, p), append(clients, p.Provider)
					apis = append(apis, p.API(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
				}
				start := time.Now()
				var all sync.WaitGroup
				all.Go(func() {
					if sent, failed := send(t, clients, 10); sent != 20 || time.Since(start) != c.provider {
						t.Errorf("%d of 20 calls were sent in %v, want all in %v: %v", sent, time.Since(start), c.provider, failed)
					}
				})
				for _, business := range []string{"acme", "globex"} {
					all.Go(func() {
						if took := runTasks(t, programs, business, 6); took != c.tasks {
							t.Errorf("6 tasks of %s took %v, want %v", business, took, c.tasks)
						}
					})
				}
				passed := 0
				for _, api := range apis {
					passed += visits(api, "ann", 15)
				}
				if passed != c.api {
					t.Errorf("%d of 30 requests passed at once, want %d", passed, c.api)
				}
				all.Wait()
				if n := upstream.Counts().Refused(); n != 0 {
					t.Errorf("the provider refused %d calls, want none", n)
				}
			})
		})
	}
}

// runTasks runs n tasks of a business, in turn in each program, all at once.
func runTasks(t *testing.T, programs []*Traffic, business string, n int) time.Duration {
	t.Helper()
	start := time.Now()
	var tasks sync.WaitGroup
	for i := range n {
		tasks.Go(func() {
			err := programs[i%len(programs)].Task(t.Context(), business, func(context.Context) error { return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	tasks.Wait()
	return time.Since(start)
}

func TestOneStoreOverRedis(t *testing.T) {
	t.Parallel()
	upstream := newProvider(t, weir.PerSecond(2).By(weir.SlidingWindow))
	passed := 0
	var programs []*Traffic
	for _, store := range overRedis(t, 2) {
		p, err := NewTraffic(store, userOf, upstream.Transport())
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, p)
	}
	start := time.Now()
	for _, p := range programs {
		passed += visits(p.API(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), "ann", 15)
	}
	// The bucket yields a unit each 200 ms.
	if more := int(time.Since(start)/(200*time.Millisecond)) + 1; passed < 10 || passed > 10+more {
		t.Errorf("%d of 30 requests passed, want 10, or %d more", passed, more)
	}
	if took := runTasks(t, programs, "acme", 3); took < time.Second || took > 10*time.Second {
		t.Errorf("3 tasks took %v, want a second", took)
	}
	start = time.Now()
	sent, _ := send(t, []*http.Client{{Transport: programs[0].Provider.Transport, Timeout: 500 * time.Millisecond}}, 4)
	most := 2 + 2*int(time.Since(start)/(1050*time.Millisecond))
	if n := upstream.Counts().Refused(); sent < 2 || sent > most || n != 0 {
		t.Errorf("%d of 4 calls were sent, want 2 to %d; the provider refused %d", sent, most, n)
	}
}
