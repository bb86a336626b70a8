package instruments_test

import (
	"errors"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/instruments"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/localstore"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestSeries: the first keys have values of their own, made once each, and the others
// share one, however many goroutines ask.
func TestSeries(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		max, keys, want int
		other           func() *int
	}{
		"all":                       {0, 50, 50, nil},
		"fewer than the bound":      {16, 10, 10, func() *int { return new(int) }},
		"more than the bound":       {16, 50, 17, func() *int { return new(int) }},
		"more, and none for others": {16, 50, 17, nil}, // nil is one
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := instruments.NewSeries(tt.max, func(string) *int { return new(int) }, tt.other)
			var mu sync.Mutex
			values, of := map[*int]bool{}, map[string]*int{}
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for i := range 200 {
						key := strconv.Itoa(i % tt.keys)
						v := s.Get(key)
						mu.Lock()
						if was, ok := of[key]; ok && was != v {
							t.Errorf("two values of %s", key)
						}
						values[v], of[key] = true, v
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			if len(values) != tt.want || values[nil] != (tt.other == nil && tt.keys > tt.max && tt.max > 0) {
				t.Errorf("%d values, want %d", len(values), tt.want)
			}
		})
	}
}

func TestGetAllocatesNothing(t *testing.T) {
	s := instruments.NewSeries(2, func(weir.Limit) *int { return new(int) }, func() *int { return new(int) })
	for i := range int64(4) {
		l := weir.PerSecond(i + 1)
		if n := testing.AllocsPerRun(100, func() { s.Get(l) }); n != 0 {
			t.Errorf("key %d: %v allocations", i, n)
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"": "unnamed", "tokens": "tokens", "a\xffb": "a?b", strings.Repeat("x", 65): strings.Repeat("x", 64),
		"x" + strings.Repeat("é", 32): "x" + strings.Repeat("é", 31) + "?",
	} {
		if got := instruments.Clean(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	for code, want := range map[int]string{429: "429", 529: "529", 200: "other", 0: "other"} {
		if got := instruments.Status(code); got != want {
			t.Errorf("%d is %q, want %q", code, got, want)
		}
	}
	if instruments.Said(&weir.Event{}) != "nothing" || instruments.Said(&weir.Event{Pause: 1}) != "duration" {
		t.Error("a refusal's time")
	}
	if instruments.To(&weir.Event{}) != "back" || instruments.To(&weir.Event{Err: errors.New("refused")}) != "away" {
		t.Error("a change")
	}
}

func TestNearLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		limit           weir.Limit
		cost, remaining int64
		allowed, want   bool
	}{
		{"a fifth left", weir.PerHour(10), 1, 2, true, true},
		{"more left", weir.PerHour(10), 1, 3, true, false},
		{"refused", weir.PerHour(10), 1, 0, false, false},
		{"a look", weir.PerHour(10), 0, 0, true, false},
		{"of the burst", weir.PerHour(100).WithBurst(5), 1, 1, true, true},
		{"a small burst", weir.PerHour(100).WithBurst(4), 1, 0, true, false},
		{"the largest limit", weir.PerHour(1 << 50), 1, 1<<50 - 1, true, false},
	} {
		e := weir.Event{Cost: tt.cost, Decision: weir.Decision{Allowed: tt.allowed, Limit: tt.limit, Remaining: tt.remaining}}
		if got := instruments.NearLimit(&e); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

func newLimiter(t *testing.T) *weir.Limiter {
	t.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := weir.New(weir.Config{Store: s, Name: "api", Limits: []weir.Limit{weir.PerHour(1)}, InFlight: 3})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestWatched: limiters of one name count together, once each, until they are gone.
func TestWatched(t *testing.T) {
	t.Parallel()
	var w instruments.Watched
	a, b := newLimiter(t), newLimiter(t)
	w.Add(a, nil, b, a)
	w.Add(b)
	var leases []*weir.Lease
	for _, l := range []*weir.Limiter{a, b} {
		lease, err := l.Acquire(t.Context(), "key")
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
	}
	if s := w.Stats()["api"]; s != ([2]int64{0, 2}) {
		t.Errorf("%+v, want two leases", s)
	}
	for _, lease := range leases {
		lease.Release()
	}
	time.Sleep(50 * time.Millisecond) // for the release
	a, b, leases = nil, nil, nil
	_, _, _ = a, b, leases
	for range 10 {
		runtime.GC()
	}
	if s := w.Stats(); len(s) != 0 {
		t.Errorf("%v of limiters that are gone", s)
	}
}

type state fallback.State

func (s state) State() fallback.State      { return fallback.State(s) }
func (state) Away() (time.Duration, error) { return 0, nil }

func TestWatchedFallbacks(t *testing.T) {
	t.Parallel()
	var w instruments.Watched
	w.AddFallback("none", nil)
	w.AddFallback("none of its type", (*fallback.Store)(nil)) // as of a program without Redis
	w.AddFallback("redis", state(fallback.StateOpen))
	w.AddFallback("redis", state(fallback.StateHalfOpen))
	if all := w.Fallbacks(); len(all) != 1 || all["redis"].State() != fallback.StateHalfOpen {
		t.Errorf("%v", all)
	}
	w.AddFallback("redis", nil)
	if all := w.Fallbacks(); len(all) != 0 {
		t.Errorf("%v of no store", all)
	}
}
