package httpcases

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/weirtest"
)

// slow is how long a store or a lookup takes in testSlow.
const slow = 2 * time.Millisecond

// newSlowStore returns a store behind a network.
var newSlowStore = stepping(weirtest.After(slow, nil))

func slowly(*http.Request) { time.Sleep(slow) }

// testSlow checks that requests of different keys never wait for one another: two hundred
// at once take as long as one. If a lock were held meanwhile, time in the bubble would
// stand still and the test would never end.
func testSlow(t *testing.T, mount Mount) {
	limits := []weir.Limit{weir.PerHour(1)}
	behind := func(t *testing.T, s weir.Store) weir.Store {
		f, err := fallback.New(fallback.Config{Primary: s})
		must(t, err)
		return f
	}
	tests := []struct {
		name   string
		store  func(t *testing.T) weir.Store
		config func(t *testing.T, cfg *middleware.Config)
		takes  time.Duration
	}{
		{name: "a slow store", takes: slow},
		{
			name:  "a slow store with a fallback",
			store: func(t *testing.T) weir.Store { return behind(t, newSlowStore()) },
			takes: slow,
		},
		{
			name: "a slow plan",
			config: func(_ *testing.T, cfg *middleware.Config) {
				cfg.Limits = func(r *http.Request) ([]weir.Limit, error) { slowly(r); return limits, nil }
			},
			takes: 2 * slow,
		},
		{
			name: "a slow key and a slow cost",
			config: func(_ *testing.T, cfg *middleware.Config) {
				key := cfg.Key
				cfg.Key = func(r *http.Request) (string, error) { slowly(r); return key(r) }
				cfg.Cost = func(r *http.Request) (int64, error) { slowly(r); return 1, nil }
			},
			takes: 3 * slow,
		},
		{
			name: "a slow shadow",
			config: func(t *testing.T, cfg *middleware.Config) {
				cfg.Shadows = []*weir.Limiter{named(t, newSlowStore(), "shadow", limits...)}
			},
			takes: 2 * slow,
		},
		{
			name:  "a slow store that settles and delays",
			store: func(t *testing.T) weir.Store { return slowSettler{newSlowStore().(*weirtest.Store)} },
			config: func(_ *testing.T, cfg *middleware.Config) {
				cfg.Settle = func(_ *http.Request, o middleware.Outcome) int64 { return o.Cost + 1 }
				cfg.Delay = middleware.Delay{Max: time.Second, MaxWaiting: 1000}
			},
			takes: 2 * slow,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newSlowStore()
				if tt.store != nil {
					store = tt.store(t)
				}
				cfg := byUser(t, store, limits...)
				if tt.config != nil {
					tt.config(t, &cfg)
				}
				h := mustMount(t, mount, cfg, http.HandlerFunc(handler))
				start := time.Now()
				var statuses tally
				longest := make([]time.Duration, 200)
				for i := range longest {
					go func() {
						statuses.add(do(t, h, request{user: fmt.Sprint("user", i)}).status)
						longest[i] = time.Since(start)
					}()
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if statuses.of(200) != len(longest) {
					t.Errorf("statuses %v", &statuses)
				}
				for _, took := range longest {
					if took != tt.takes {
						t.Fatalf("one took %v, want %v", took, tt.takes)
					}
				}
			})
		})
	}
}

// slowSettler is a slow store that settles slowly.
type slowSettler struct{ *weirtest.Store }

func (s slowSettler) Settle(ctx context.Context, receipt any, costs ...int64) error {
	time.Sleep(slow)
	return s.Store.Settle(ctx, receipt, costs...)
}
