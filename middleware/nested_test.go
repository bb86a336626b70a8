package middleware_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/dunglas/httpsfv"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// party is a limiter and a key, by their numbers.
type party struct{ limiter, key int }

// TestNested nests random mounts of three limiters and two keys, with levels. Each party is
// charged once, by its outermost mount, which settles it. The headers list it once.
func TestNested(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 0))
		store := newLocal(t)
		var limiters [3]*weir.Limiter
		for i := range limiters {
			name := strconv.Itoa(i)
			limiters[i] = on(t, store, name, weir.PerDay(100).WithName(name))
		}
		free := map[party]bool{} // whether a failure costs the party nothing
		h := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
		for range 1 + rng.IntN(4) {
			var cfg middleware.Config
			if rng.IntN(2) == 0 {
				cfg.Settle = middleware.OnlySuccesses
			}
			for _, i := range rng.Perm(3)[:1+rng.IntN(3)] {
				p := party{i, rng.IntN(2)}
				free[p] = cfg.Settle != nil // The mounts further in come first.
				key := weir.KeyStatic(strconv.Itoa(p.key))
				if cfg.Limiter == nil {
					cfg.Limiter, cfg.Key = limiters[i], key
				} else {
					cfg.Levels = append(cfg.Levels, middleware.Level{Limiter: limiters[i], Key: key})
				}
			}
			limit, err := middleware.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			h = limit(h)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		for _, name := range []string{"Ratelimit", "Ratelimit-Policy"} {
			if list, err := httpsfv.UnmarshalList(w.Header()[name]); len(list) != len(free) || err != nil {
				t.Errorf("seed %d: %s %q, %v; want %d members", seed, name, w.Header()[name], err, len(free))
			}
		}
		for n := range 6 {
			p, want := party{n / 2, n % 2}, int64(100)
			if settled, mounted := free[p]; mounted && !settled {
				want--
			}
			if d, err := limiters[p.limiter].Peek(t.Context(), strconv.Itoa(p.key)); d.Remaining != want || err != nil {
				t.Errorf("seed %d: %+v has %d units, %v; want %d", seed, p, d.Remaining, err, want)
			}
		}
	}
}
