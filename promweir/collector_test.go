package promweir_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goweir/weir"
	"github.com/goweir/weir/promweir"
	"github.com/goweir/weir/retry"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

// decided is the line of decisions on the limiter's limit.
func decided(result, source string, n int) string {
	return "weir_decisions_total{limit=1-in-1s,limiter=api,result=" + result + ",source=" + source + "} " + strconv.Itoa(n)
}

// called is the line of calls of the store in the limiter's name.
func called(op, source, result, of string) string {
	return "weir_store_duration_seconds{limiter=api,operation=" + op + ",result=" + result + ",source=" + source + "} " + of
}

// TestZeroCollector: a Collector that New has not made counts nothing, and panics nowhere.
func TestZeroCollector(t *testing.T) {
	t.Parallel()
	c := new(promweir.Collector)
	for kind := weir.EventDecision; kind <= weir.EventFallback; kind++ {
		c.Observe(background, weir.Event{Kind: kind, Scope: "api"})
	}
	c.Retried("api")(nil, retry.Attempt{})
	c.Watch(newWorld(t).l)
	c.WatchFallback("main", nil)
	registry := prometheus.NewRegistry()
	must(t, registry.Register(c))
	if families, err := registry.Gather(); len(families) > 0 || err != nil {
		t.Errorf("gathered %v, %v; want nothing", families, err)
	}
}

// rows: an act, and all series that exist afterwards.
var rows = []struct {
	name string
	act  func(t *testing.T, w *world)
	want []string
}{
	{"nothing", func(*testing.T, *world) {}, nil},
	{"admitted", func(t *testing.T, w *world) { allow(t, w, "a", "b") }, []string{decided("allowed", "store", 2)}},
	{"refused", func(t *testing.T, w *world) { allow(t, w, "a", "a", "a") }, []string{decided("allowed", "store", 2), decided("limited", "store", 1)}},
	{"a wait", func(t *testing.T, w *world) {
		allow(t, w, "a", "a")
		must(t, w.l.Wait(t.Context(), "a"))
	}, []string{decided("allowed", "store", 3), called("take", "store", "answered", "2 of 0"), "weir_wait_duration_seconds{limiter=api,result=allowed} 1 of 1"}},
	{"a wait that is cancelled", func(t *testing.T, w *world) {
		allow(t, w, "a", "a")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*ms, cancel)
		if w.l.Wait(ctx, "a") == nil {
			t.Error("admitted")
		}
	}, []string{
		decided("allowed", "store", 3), called("cancel", "store", "answered", "1 of 0"), called("take", "store", "answered", "1 of 0"),
		"weir_wait_duration_seconds{limiter=api,result=canceled} 1 of 0.5",
	}},
	{"gauges", func(t *testing.T, w *world) {
		w.Watch(w.l, nil, w.l)
		allow(t, w, "a", "a")
		go func() { _ = w.l.Wait(t.Context(), "a") }()
		time.Sleep(500 * ms)
	}, []string{
		decided("allowed", "store", 3), called("take", "store", "answered", "1 of 0"),
		"weir_in_flight{limiter=api} 0", "weir_waiting{limiter=api} 1",
	}},
	{"a lease", func(t *testing.T, w *world) {
		fresh, err := localstore.New(localstore.Config{}) // where no other limiter has the name
		must(t, err)
		w.with(t, func(c *weir.Config) { c.InFlight, c.Store = 2, fresh })
		w.Watch(w.l)
		lease, err := w.l.Acquire(t.Context(), "a")
		must(t, err)
		t.Cleanup(lease.Release)
	}, []string{decided("allowed", "store", 1), called("take", "store", "answered", "1 of 0"), "weir_in_flight{limiter=api} 1", "weir_waiting{limiter=api} 0"}},
	{"a lost lease", func(_ *testing.T, w *world) {
		w.Observe(background, weir.Event{Kind: weir.EventLeaseLost, Scope: "api"})
	}, []string{"weir_leases_lost_total{limiter=api} 1"}},
	{"a slow store", func(t *testing.T, w *world) {
		w.with(t, w.asked)
		w.store.Always(weirtest.After(250*ms, weirtest.Pass()))
		allow(t, w, "a")
	}, []string{decided("allowed", "store", 1), called("take", "store", "answered", "1 of 0.25")}},
	{"a store that fails", func(t *testing.T, w *world) {
		w.with(t, w.asked)
		w.store.Next(weirtest.Fail(errors.New("down")))
		if _, err := w.l.Allow(t.Context(), "a"); err == nil {
			t.Error("decided")
		}
	}, []string{called("take", "store", "store_error", "1 of 0"), "weir_store_errors_total{limiter=api,operation=take} 1"}},
	{"other sources", func(t *testing.T, w *world) {
		w.with(t, w.asked)
		limit := store.Limit(w.l.Config().Limits[0])
		for _, source := range []store.Source{store.SourceDenyCache, store.SourceLease, store.SourceFallback} {
			w.store.Next(weirtest.Decide(store.Decision{Allowed: true, Source: source, Limit: limit, Remaining: 9, OtherLimits: source == store.SourceLease}))
			allow(t, w, "a")
		}
	}, []string{
		decided("allowed", "deny_cache", 1), decided("allowed", "fallback", 1), decided("allowed", "lease", 1), "weir_other_limits_total{limiter=api} 1",
		called("take", "deny_cache", "answered", "1 of 0"), called("take", "fallback", "answered", "1 of 0"), called("take", "lease", "answered", "1 of 0"),
	}},
	{"near the limit", func(t *testing.T, w *world) {
		for _, cost := range []int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0} { // The 8th leaves 2 of 10, the 11th is refused.
			_, err := w.l.AllowLimits(t.Context(), "a", cost, []weir.Limit{weir.PerHour(10)})
			must(t, err)
		}
	}, []string{
		"weir_decisions_total{limit=10-in-1h,limiter=api,result=allowed,source=store} 11",
		"weir_decisions_total{limit=10-in-1h,limiter=api,result=limited,source=store} 1",
		"weir_near_limit_total{limit=10-in-1h,limiter=api} 3",
		called("take", "store", "answered", "12 of 0"),
	}},
	{"a refusal with a time", func(t *testing.T, w *world) { w.answer(t, 429, http.Header{"Retry-After": {"2"}}) }, []string{
		decided("allowed", "store", 1), "weir_pause_duration_seconds{by=upstream,limiter=api} 1 of 2", called("brake", "store", "answered", "1 of 0"),
		"weir_upstream_refusals_total{limiter=api,said=duration,status=429} 1",
	}},
	{"a refusal without a time", func(t *testing.T, w *world) { w.answer(t, 429, http.Header{}) }, []string{
		decided("allowed", "store", 1), "weir_slowdowns_total{by=upstream,limiter=api} 1", called("brake", "store", "answered", "1 of 0"),
		"weir_upstream_refusals_total{limiter=api,said=nothing,status=429} 1",
	}},
	{"an error that is no refusal", func(t *testing.T, w *world) { w.answer(t, 503, http.Header{}) }, []string{decided("allowed", "store", 1)}},
	{"a budget", func(t *testing.T, w *world) {
		w.answer(t, 200, http.Header{"Ratelimit": {`"day";r=700;t=60`}, "Ratelimit-Policy": {`"day";q=1000;w=86400`}})
	}, []string{decided("allowed", "store", 1), "weir_upstream_limit{budget=day,limiter=api} 1000", "weir_upstream_remaining{budget=day,limiter=api} 700"}},
	{"Pause, PauseBy and Resume", func(t *testing.T, w *world) {
		must(t, w.l.Pause(t.Context(), "a", time.Minute))
		must(t, w.l.PauseBy(t.Context(), "a", time.Hour, "penalty"))
		must(t, w.l.Resume(t.Context(), "a"))
	}, []string{
		"weir_lifts_total{by=hand,limiter=api} 1", "weir_pause_duration_seconds{by=hand,limiter=api} 1 of 60",
		"weir_pause_duration_seconds{by=penalty,limiter=api} 1 of 3600", called("brake", "store", "answered", "3 of 0"),
	}},
	{"PauseBy with a word that is no text", func(t *testing.T, w *world) {
		must(t, w.l.PauseBy(t.Context(), "a", time.Hour, "night\xff"))
	}, []string{"weir_pause_duration_seconds{by=night?,limiter=api} 1 of 3600", called("brake", "store", "answered", "1 of 0")}},
	{"Settle", func(t *testing.T, w *world) {
		r, err := w.l.ReserveN(t.Context(), "a", 2)
		must(t, err)
		must(t, r.Settle(t.Context(), 1))
	}, []string{
		decided("allowed", "store", 1), "weir_estimated_units_total{limiter=api} 2", "weir_settled_units_total{limiter=api} 1",
		called("settle", "store", "answered", "1 of 0"), called("take", "store", "answered", "1 of 0"),
	}},
	{"a further attempt", func(t *testing.T, w *world) {
		calls := 0
		tr, err := retry.New(retry.Config{Observe: w.Retried("api"), Base: roundTrip(func(req *http.Request) (*http.Response, error) {
			calls++
			return &http.Response{StatusCode: []int{503, 200}[min(calls, 2)-1], Body: http.NoBody, Request: req}, nil
		})})
		must(t, err)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.example/", nil)
		must(t, err)
		resp, err := tr.RoundTrip(req)
		must(t, err)
		must(t, resp.Body.Close())
	}, []string{"weir_retries_total{limiter=api} 1"}},
	{"a primary store that goes away and comes back", func(t *testing.T, w *world) {
		s, err := fallback.New(fallback.Config{Primary: w.store, OnChange: weir.ObserveFallback(w.Observe, "redis")})
		must(t, err)
		w.with(t, func(c *weir.Config) { c.Store, c.Hook = s, nil })
		w.WatchFallback("redis", s)
		w.store.Always(weirtest.Fail(errors.New("down")))
		for range 5 {
			allow(t, w, "a")
			time.Sleep(100 * ms)
		}
		w.store.Clear()
		time.Sleep(5 * time.Second)
		w.store.Always(weirtest.Fail(errors.New("down")))
		for range 5 {
			allow(t, w, "a")
			time.Sleep(100 * ms)
		}
		time.Sleep(time.Until(w.awaySince(s).Add(10 * time.Second)))
	}, []string{
		"weir_fallback_away_seconds{store=redis} 10", "weir_fallback_changes_total{store=redis,to=away} 2",
		"weir_fallback_changes_total{store=redis,to=back} 1", "weir_fallback_state{store=redis} 1",
	}},
}

// awaySince returns the time at which the primary store went away.
func (w *world) awaySince(s *fallback.Store) time.Time {
	away, _ := s.Away()
	return time.Now().Add(-away)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func allow(t *testing.T, w *world, keys ...string) {
	t.Helper()
	for _, key := range keys {
		_, err := w.l.Allow(t.Context(), key)
		must(t, err)
	}
}

// TestInstruments: each instrument moves under its condition, and no other does.
func TestInstruments(t *testing.T) {
	t.Parallel()
	moved := make(map[string]bool)
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				tt.act(t, w)
				got := series(t, w.Collector)
				slices.Sort(tt.want)
				if !slices.Equal(got, tt.want) {
					t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
				}
				for _, line := range got {
					name, _, _ := strings.Cut(line, "{")
					moved[name] = true
				}
				time.Sleep(10 * time.Second) // for calls that wait still
			})
		})
	}
	if all := slices.Sorted(maps.Keys(described(t))); !slices.Equal(slices.Sorted(maps.Keys(moved)), all) {
		t.Errorf("moved %v, of %v", slices.Sorted(maps.Keys(moved)), all)
	}
}

// described returns the labels of each instrument.
func described(t *testing.T) map[string][]string {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() {
		promweir.New().Describe(descs)
		close(descs)
	}()
	all := make(map[string][]string)
	for d := range descs {
		text := d.String()
		_, name, _ := strings.Cut(text, `fqName: "`)
		name, _, _ = strings.Cut(name, `"`)
		_, labels, _ := strings.Cut(text, "variableLabels: {")
		labels, _, _ = strings.Cut(labels, "}")
		all[name] = strings.Split(labels, ",")
	}
	return all
}

// TestWatchKeepsNoLimiter: the Collector does not keep a limiter from being collected.
func TestWatchKeepsNoLimiter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Watch(w.l)
	if got := series(t, w.Collector); len(got) != 2 {
		t.Fatalf("found %v of one limiter", got)
	}
	w.l = nil
	for range 10 {
		runtime.GC()
	}
	if got := series(t, w.Collector); len(got) != 0 {
		t.Errorf("found %v of a limiter that is gone", got)
	}
}

// TestWatchFallback: a later store replaces an earlier one, and nil removes it.
func TestWatchFallback(t *testing.T) {
	t.Parallel()
	c := promweir.New()
	c.WatchFallback("redis", state(fallback.StateOpen))
	c.WatchFallback("redis", state(fallback.StateHalfOpen))
	if got := series(t, c); len(got) != 2 || got[1] != "weir_fallback_state{store=redis} 2" {
		t.Errorf("found %v", got)
	}
	c.WatchFallback("redis", nil)
	if got := series(t, c); len(got) != 0 {
		t.Errorf("found %v of no store", got)
	}
}

type state fallback.State

func (s state) State() fallback.State      { return fallback.State(s) }
func (state) Away() (time.Duration, error) { return 0, nil }
