package otelweir_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/otelweir"
	"github.com/goweir/weir/retry"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/upstream"
	"github.com/goweir/weir/weirtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestZeroInstruments: Instruments that New has not made record nothing, and panic nowhere.
func TestZeroInstruments(t *testing.T) {
	t.Parallel()
	i := new(otelweir.Instruments)
	for kind := weir.EventDecision; kind <= weir.EventFallback; kind++ {
		i.Observe(t.Context(), weir.Event{Kind: kind, Scope: "api"})
	}
	i.Retried("api")(httptest.NewRequest(http.MethodGet, "/", nil), retry.Attempt{})
	i.Watch(newWorld(t, otelweir.Config{}).l)
	i.WatchFallback("main", nil)
	must(t, i.Close())
}

// world is a limiter on a scripted local store, with Instruments.
type world struct {
	*otelweir.Instruments
	reader *sdk.ManualReader
	store  *weirtest.Store
	l      *weir.Limiter
}

func newWorld(t testing.TB, cfg otelweir.Config) *world {
	t.Helper()
	local, err := localstore.New(localstore.Config{})
	must(t, err)
	w := &world{reader: sdk.NewManualReader(), store: weirtest.NewStore(local)}
	cfg.MeterProvider = sdk.NewMeterProvider(sdk.WithReader(w.reader))
	w.Instruments, err = otelweir.New(cfg)
	must(t, err)
	w.l, err = weir.New(weir.Config{Store: w.store, Name: "api", Limits: []weir.Limit{weir.PerSecond(1).WithBurst(2)}, Hook: w.Observe})
	must(t, err)
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// collect returns the instruments with a value.
func (w *world) collect(t testing.TB) []metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	must(t, w.reader.Collect(context.Background(), &all))
	var found []metricdata.Metrics
	for _, scope := range all.ScopeMetrics {
		found = append(found, scope.Metrics...)
	}
	return found
}

// series returns one line for each series. A histogram is its count and its sum.
func (w *world) series(t testing.TB) (lines []string) {
	t.Helper()
	for _, m := range w.collect(t) {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				lines = append(lines, fmt.Sprint(m.Name, attributes(p.Attributes.ToSlice()), " ", p.Value))
			}
		case metricdata.Gauge[int64]:
			for _, p := range data.DataPoints {
				lines = append(lines, fmt.Sprint(m.Name, attributes(p.Attributes.ToSlice()), " ", p.Value))
			}
		case metricdata.Gauge[float64]:
			for _, p := range data.DataPoints {
				lines = append(lines, fmt.Sprint(m.Name, attributes(p.Attributes.ToSlice()), " ", p.Value))
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				lines = append(lines, fmt.Sprint(m.Name, attributes(p.Attributes.ToSlice()), " ", p.Count, " of ", p.Sum))
			}
		default:
			t.Errorf("%s is a %T", m.Name, m.Data)
		}
	}
	slices.Sort(lines)
	return lines
}

// event returns an act that shows one event.
func event(e weir.Event) func(*testing.T, *world) {
	return func(_ *testing.T, w *world) {
		e.Scope = "api"
		w.Observe(context.Background(), e)
	}
}

func allow(t *testing.T, w *world, keys ...string) {
	t.Helper()
	for _, key := range keys {
		_, err := w.l.Allow(t.Context(), key)
		must(t, err)
	}
}

const (
	taken   = "weir.store.duration{weir.limiter=api,weir.operation=take,weir.source=store} "
	decided = "weir.decisions{weir.limit=1-in-1s,weir.limiter=api,weir.result="
	oneOfIt = "{weir.limiter=api} 1"
)

// rows: an act, and all series that exist afterwards.
var rows = []struct {
	name string
	act  func(t *testing.T, w *world)
	want []string
}{
	{"nothing", func(*testing.T, *world) {}, nil},
	{"admitted and refused", func(t *testing.T, w *world) { allow(t, w, "a", "a", "a") },
		[]string{decided + "allowed,weir.source=store} 2", decided + "limited,weir.source=store} 1", taken + "3 of 0"}},
	{"a wait", func(t *testing.T, w *world) {
		allow(t, w, "a", "a")
		must(t, w.l.Wait(t.Context(), "a"))
	}, []string{decided + "allowed,weir.source=store} 3", taken + "4 of 0", "weir.wait.duration{weir.limiter=api,weir.result=allowed} 1 of 1"}},
	{"gauges", func(t *testing.T, w *world) {
		w.Watch(w.l)
		allow(t, w, "a", "a")
		go func() { _ = w.l.Wait(t.Context(), "a") }()
		time.Sleep(time.Second / 2)
	}, []string{decided + "allowed,weir.source=store} 3", taken + "3 of 0", "weir.in_flight{weir.limiter=api} 0", "weir.waiting" + oneOfIt}},
	{"a store that fails", func(t *testing.T, w *world) {
		w.store.Next(weirtest.Fail(errors.New("down")))
		if _, err := w.l.Allow(t.Context(), "a"); err == nil {
			t.Error("decided")
		}
	}, []string{
		"weir.store.duration{error.type=store_error,weir.limiter=api,weir.operation=take,weir.source=store} 1 of 0",
		"weir.store.errors{weir.limiter=api,weir.operation=take} 1",
	}},
	{"another source, near the limit, and other limits", func(t *testing.T, w *world) {
		w.store.Next(weirtest.Decide(store.Decision{Allowed: true, Source: store.SourceLease, Limit: store.Per(10, time.Hour), Remaining: 2, OtherLimits: true}))
		allow(t, w, "a")
	}, []string{
		"weir.decisions{weir.limit=10-in-1h,weir.limiter=api,weir.result=allowed,weir.source=lease} 1",
		"weir.near_limit{weir.limit=10-in-1h,weir.limiter=api} 1", "weir.other_limits" + oneOfIt,
		"weir.store.duration{weir.limiter=api,weir.operation=take,weir.source=lease} 1 of 0",
	}},
	{"a lost lease", event(weir.Event{Kind: weir.EventLeaseLost}), []string{"weir.leases.lost" + oneOfIt}},
	{"a refusal with a time", event(weir.Event{Kind: weir.EventRefusal, Status: 429, Pause: time.Second}),
		[]string{"weir.upstream.refusals{http.response.status_code=429,weir.limiter=api,weir.said=duration} 1"}},
	{"a refusal without a time", event(weir.Event{Kind: weir.EventRefusal, Status: 700}),
		[]string{"weir.upstream.refusals{weir.limiter=api,weir.said=nothing} 1"}},
	{"a budget", event(weir.Event{Kind: weir.EventBudget, Budget: &upstream.Budget{Name: "day", Limit: 9, Remaining: 0}}),
		[]string{"weir.upstream.limit{weir.budget=day,weir.limiter=api} 9", "weir.upstream.remaining{weir.budget=day,weir.limiter=api} 0"}},
	{"half a budget", event(weir.Event{Kind: weir.EventBudget, Budget: &upstream.Budget{Limit: -1, Remaining: 3}}),
		[]string{"weir.upstream.remaining{weir.budget=unnamed,weir.limiter=api} 3"}},
	{"a pause", event(weir.Event{Kind: weir.EventPaused, By: "upstream", Pause: time.Minute}),
		[]string{"weir.pause.duration{weir.by=upstream,weir.limiter=api} 1 of 60"}},
	{"a lower rate", event(weir.Event{Kind: weir.EventSlowed, By: "upstream"}), []string{"weir.slowdowns{weir.by=upstream,weir.limiter=api} 1"}},
	{"a lifted pause", event(weir.Event{Kind: weir.EventLifted, By: "hand"}), []string{"weir.lifts{weir.by=hand,weir.limiter=api} 1"}},
	{"a settled call", event(weir.Event{Kind: weir.EventSettled, Cost: 5, Actual: 3}),
		[]string{"weir.estimated.units{weir.limiter=api} 5", "weir.settled.units{weir.limiter=api} 3"}},
	{"a further attempt", func(t *testing.T, w *world) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.example/", nil)
		must(t, err)
		w.Retried("api")(req, retry.Attempt{})
	}, []string{"weir.retries" + oneOfIt}},
	{"a primary store that goes away", func(t *testing.T, w *world) {
		s, err := fallback.New(fallback.Config{Primary: w.store, OnChange: weir.ObserveFallback(w.Observe, "redis")})
		must(t, err)
		w.WatchFallback("redis", s)
		w.store.Always(weirtest.Fail(errors.New("down")))
		for range 4 {
			_, err := s.Take(t.Context(), store.Request{Charges: []store.Charge{{Key: "a", Cost: 1, Limit: store.Per(9, time.Hour)}}})
			must(t, err)
			time.Sleep(60 * time.Millisecond)
		}
		away, _ := s.Away()
		time.Sleep(10*time.Second - away)
	}, []string{"weir.fallback.away{weir.store=redis} 10", "weir.fallback.changes{weir.store=redis,weir.to=away} 1", "weir.fallback.state{weir.store=redis} 1"}},
	{"an unknown kind", event(weir.Event{Kind: 200}), nil},
}

// units are the units of the instruments.
var units = map[string]string{
	"weir.decisions": "{decision}", "weir.near_limit": "{decision}", "weir.other_limits": "{decision}", "weir.wait.duration": "s",
	"weir.waiting": "{call}", "weir.in_flight": "{call}", "weir.leases.lost": "{lease}", "weir.store.duration": "s", "weir.store.errors": "{error}",
	"weir.upstream.refusals": "{response}", "weir.upstream.limit": "{unit}", "weir.upstream.remaining": "{unit}", "weir.pause.duration": "s",
	"weir.slowdowns": "{slowdown}", "weir.lifts": "{lift}", "weir.retries": "{attempt}", "weir.estimated.units": "{unit}",
	"weir.settled.units": "{unit}", "weir.fallback.state": "1", "weir.fallback.away": "s", "weir.fallback.changes": "{change}",
}

// TestInstruments: each instrument moves under its condition, and no other does.
func TestInstruments(t *testing.T) {
	t.Parallel()
	moved := make(map[string]string)
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, otelweir.Config{})
				tt.act(t, w)
				got := w.series(t)
				slices.Sort(tt.want)
				if !slices.Equal(got, tt.want) {
					t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
				}
				for _, m := range w.collect(t) {
					moved[m.Name] = m.Unit
				}
				time.Sleep(10 * time.Second) // for calls that wait still
			})
		})
	}
	if !maps.Equal(moved, units) {
		t.Errorf("moved %v, want %v", moved, units)
	}
}

// TestAttributesAreBounded: names from outside and limits by the call get a bounded number
// of series.
func TestAttributesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, otelweir.Config{})
	for i := range 1000 {
		w.Observe(t.Context(), weir.Event{Kind: weir.EventBudget, Scope: "api", Key: "key", Budget: &upstream.Budget{Name: "b" + strconv.Itoa(i), Limit: 9, Remaining: 1}})
		w.Observe(t.Context(), weir.Event{Kind: weir.EventRefusal, Scope: "api", Key: "key", Status: i})
		w.Observe(t.Context(), weir.Event{Kind: weir.EventDecision, Scope: "api", Key: "key", Decision: weir.Decision{
			Limit: weir.Limit{Rate: int64(i + 1), Period: time.Second}, Reason: weir.Reason(i),
		}})
	}
	count := make(map[string]int)
	for _, line := range w.series(t) {
		name, _, _ := strings.Cut(line, "{")
		count[name]++
		if strings.Contains(line, "=key") {
			t.Errorf("a key is an attribute: %s", line)
		}
	}
	for name, most := range map[string]int{"weir.upstream.limit": 16, "weir.upstream.remaining": 16, "weir.upstream.refusals": 7, "weir.decisions": 64 + 8} {
		if n := count[name]; n > most || n == 0 {
			t.Errorf("%s has %d series, want at most %d", name, n, most)
		}
	}
}

// TestClose: after Close, numbers are not read any more, and events count.
func TestClose(t *testing.T) {
	t.Parallel()
	w := newWorld(t, otelweir.Config{})
	w.Watch(w.l)
	must(t, w.Close())
	w.Observe(t.Context(), weir.Event{Kind: weir.EventLeaseLost, Scope: "api"})
	if got := fmt.Sprint(w.series(t)); got != "[weir.leases.lost{weir.limiter=api} 1]" {
		t.Errorf("found %s", got)
	}
}

// broken is a meter that can't make an instrument.
type broken struct{ metric.MeterProvider }

type brokenMeter struct{ metric.Meter }

var errBroken = errors.New("broken")

func (b broken) Meter(name string, options ...metric.MeterOption) metric.Meter {
	return brokenMeter{b.MeterProvider.Meter(name, options...)}
}

func (brokenMeter) Int64Gauge(string, ...metric.Int64GaugeOption) (metric.Int64Gauge, error) {
	return nil, errBroken
}

func TestNewFails(t *testing.T) {
	t.Parallel()
	if _, err := otelweir.New(otelweir.Config{MeterProvider: broken{sdk.NewMeterProvider()}}); !errors.Is(err, errBroken) {
		t.Errorf("%v, want the meter's error", err)
	}
	if _, err := otelweir.New(otelweir.Config{}); err != nil {
		t.Errorf("with the default provider: %v", err)
	}
}

// TestDecisionsAllocateNothing, without and with a call of the store.
func TestDecisionsAllocateNothing(t *testing.T) {
	if long.Race {
		t.Skip("the race detector allocates")
	}
	w := newWorld(t, otelweir.Config{})
	for _, op := range []string{"", "take"} {
		e := weir.Event{Kind: weir.EventDecision, Scope: "api", Op: op, Took: time.Millisecond, Decision: weir.Decision{Allowed: true, Limit: weir.PerSecond(9), Remaining: 9}}
		if n := testing.AllocsPerRun(500, func() { w.Observe(context.Background(), e) }); n != 0 {
			t.Errorf("%q: %v allocations", op, n)
		}
	}
}

// BenchmarkDecision observes a decision's event, without and with a call of the store.
func BenchmarkDecision(b *testing.B) {
	for name, op := range map[string]string{"in memory": "", "by a call": "take"} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, otelweir.Config{})
			e := weir.Event{
				Kind: weir.EventDecision, Scope: "api", Key: "key", Cost: 1, Op: op, Took: time.Millisecond,
				Decision: weir.Decision{Allowed: true, Limit: weir.PerSecond(9), Remaining: 9},
			}
			b.ReportAllocs()
			for b.Loop() {
				w.Observe(context.Background(), e)
			}
		})
	}
}
