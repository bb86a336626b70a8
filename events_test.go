package weir_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

// free are the kinds without a cost.
var free = []weir.EventKind{
	weir.EventLeaseLost, weir.EventRefusal, weir.EventBudget, weir.EventPaused, weir.EventSlowed, weir.EventLifted, weir.EventFallback,
}

// lines returns one line for each event: its kind and the fields of that kind.
func (h *toldHook) lines(t *testing.T) (lines []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.told {
		text := e.Kind.String()
		switch e.Kind {
		case weir.EventDecision:
			text += fmt.Sprint(" ", e.Cost, " ", e.Decision.Reason, " ", e.Decision.Source)
			if e.Op != "" {
				text += fmt.Sprint(", ", e.Op, " ", e.Took)
			}
		case weir.EventWaitBegin:
			text += fmt.Sprint(" ", e.Decision.Reason)
		case weir.EventWait:
			text += fmt.Sprint(" ", e.Decision.Reason, " ", e.Took, " ", e.Err != nil)
		case weir.EventStoreCall:
			text += fmt.Sprint(" ", e.Op, " ", e.Took, " ", e.Err != nil)
		case weir.EventRefusal:
			text += fmt.Sprint(" ", e.Status, " ", e.Pause)
		case weir.EventBudget:
			text += fmt.Sprintf(" %q %d/%d", e.Budget.Name, e.Budget.Remaining, e.Budget.Limit)
			if e.Budget.Reset != -1 {
				text += fmt.Sprint(" until ", e.Budget.Reset)
			}
		case weir.EventPaused:
			text += fmt.Sprint(" ", e.By, " ", e.Pause)
		case weir.EventSlowed, weir.EventLifted:
			text += fmt.Sprint(" ", e.By)
		case weir.EventSettled:
			text += fmt.Sprint(" ", e.Cost, " ", e.Actual)
		}
		if e.Scope != "api" || e.Key != "key" || e.Cost > 0 && slices.Contains(free, e.Kind) {
			t.Errorf("the hook got %s of %q in %q with a cost of %d, want the key in api", e.Kind, e.Key, e.Scope, e.Cost)
		}
		lines = append(lines, text)
	}
	slices.Sort(lines) // Calls in the background come at any time.
	return lines
}

// eventWorld is a limiter on a local store, which takes 10 ms a call, and its hook.
// A waiter looks once before its slot, because no watch covers it.
type eventWorld struct {
	*toldHook
	l     *weir.Limiter
	store *weirtest.Store
}

// answer sends a request over a Transport to an upstream with this response.
func (w *eventWorld) answer(t *testing.T, configure func(*weir.TransportConfig), status int, header http.Header) {
	t.Helper()
	base := transportFunc(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: header, Body: http.NoBody, Request: req}, nil
	})
	cfg := weir.TransportConfig{Limiter: w.l, Base: base, Key: weir.KeyStatic("key")}
	if configure != nil {
		configure(&cfg)
	}
	tr, err := weir.NewTransport(cfg)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}

// TestEvents: each act causes exactly its events.
func TestEvents(t *testing.T) {
	t.Parallel()
	const (
		took    = "decision 1 allowed store, take 10ms"
		took2   = "decision 2 allowed store, take 10ms"
		granted = "decision 1 allowed store" // with a lease, after its take
		take    = "store_call take 10ms false"
		brake   = "store_call brake 0s false"
		settle  = "store_call settle 0s false"
		refused = "decision 1 limited store, take 10ms"
	)
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	use := func(t *testing.T, w *eventWorld) {
		_, err := w.l.Allow(t.Context(), "key")
		must(t, err)
	}
	reserve := func(t *testing.T, w *eventWorld) *weir.Reservation {
		r, err := w.l.ReserveN(t.Context(), "key", 2)
		must(t, err)
		return r
	}
	for _, tt := range []struct {
		name      string
		configure func(*weir.Config)
		act       func(t *testing.T, w *eventWorld)
		want      []string
	}{
		{"nothing", nil, func(*testing.T, *eventWorld) {}, nil},
		{"Allow", nil, use, []string{took}},
		{"a refused Allow", nil, func(t *testing.T, w *eventWorld) {
			for range 3 {
				use(t, w)
			}
		}, []string{took, took, refused}},
		{"Peek", nil, func(t *testing.T, w *eventWorld) {
			_, err := w.l.Peek(t.Context(), "key")
			must(t, err)
		}, []string{"decision 0 allowed store, take 10ms"}},
		{"a wrong cost", nil, func(t *testing.T, w *eventWorld) {
			if _, err := w.l.AllowN(t.Context(), "key", -1); err == nil {
				t.Error("admitted")
			}
		}, nil},
		{"the store fails", nil, func(t *testing.T, w *eventWorld) {
			w.store.Next(weirtest.Fail(errors.New("down")))
			if _, err := w.l.Allow(t.Context(), "key"); err == nil {
				t.Error("decided")
			}
		}, []string{"store_call take 0s true"}},
		{"Wait without a wait", nil, func(t *testing.T, w *eventWorld) { must(t, w.l.Wait(t.Context(), "key")) }, []string{took}},
		{"Wait", nil, func(t *testing.T, w *eventWorld) {
			use(t, w)
			use(t, w)
			go func() {
				time.Sleep(500 * ms)
				if n, _ := w.l.Stats(); n != 1 {
					t.Errorf("%d calls wait, want 1", n)
				}
			}()
			must(t, w.l.Wait(t.Context(), "key"))
		}, []string{took, took, took, take, "wait allowed 1s false", "wait_begin allowed"}},
		{"Wait in the background", nil, func(t *testing.T, w *eventWorld) {
			use(t, w)
			use(t, w)
			must(t, w.l.Wait(weir.InBackground(t.Context()), "key"))
		}, []string{took, took, took, refused, "wait allowed 2s false", "wait_begin limited"}},
		{"a cancelled Wait", nil, func(t *testing.T, w *eventWorld) {
			use(t, w)
			use(t, w)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(500*ms, cancel)
			if err := w.l.Wait(ctx, "key"); err == nil {
				t.Error("admitted")
			}
		}, []string{took, took, took, "store_call cancel 0s false", "wait allowed 500ms true", "wait_begin allowed"}},
		{"too many waiters", func(c *weir.Config) { c.MaxWaiters = 1 }, func(t *testing.T, w *eventWorld) {
			use(t, w)
			use(t, w)
			go func() { _ = w.l.Wait(t.Context(), "key") }()
			time.Sleep(500 * ms)
			if err := w.l.Wait(t.Context(), "key"); err == nil {
				t.Error("admitted")
			}
			time.Sleep(time.Second)
		}, []string{took, took, took, "decision 1 too_many_waiters limiter", take, "wait allowed 1s false", "wait_begin allowed"}},
		{"Acquire and Release", func(c *weir.Config) { c.InFlight = 1 }, func(t *testing.T, w *eventWorld) {
			lease := acquire(t, w.l, "key")
			if waiting, held := w.l.Stats(); waiting != 0 || held != 1 {
				t.Errorf("%d wait, %d leases, want one lease", waiting, held)
			}
			lease.Release()
		}, []string{granted, "store_call release 0s false", take}},
		{"a wait for room", func(c *weir.Config) { c.InFlight = 1 }, func(t *testing.T, w *eventWorld) {
			lease := acquire(t, w.l, "key")
			time.AfterFunc(100*ms, func() {
				if waiting, held := w.l.Stats(); waiting != 1 || held != 1 {
					t.Errorf("%d wait, %d leases, want one of each", waiting, held)
				}
				lease.Release()
			})
			acquire(t, w.l, "key").Release()
		}, []string{granted, granted, "store_call release 0s false", "store_call release 0s false", take, take, "wait allowed 110ms false", "wait_begin allowed"}},
		{"no room", func(c *weir.Config) { c.InFlight = 1 }, func(t *testing.T, w *eventWorld) {
			lease := acquire(t, w.l, "key")
			if _, err := w.l.TryAcquire(t.Context(), "key"); err == nil {
				t.Error("admitted")
			}
			lease.Release()
		}, []string{granted, "decision 1 in_flight limiter", "store_call release 0s false", take}},
		{"Settle", nil, func(t *testing.T, w *eventWorld) { must(t, reserve(t, w).Settle(t.Context(), 1)) },
			[]string{took2, "settled 2 1", settle}},
		{"Settle of a right estimate", nil, func(t *testing.T, w *eventWorld) { must(t, reserve(t, w).Settle(t.Context(), 2)) },
			[]string{took2, "settled 2 2"}},
		{"two Settles", nil, func(t *testing.T, w *eventWorld) {
			r := reserve(t, w)
			must(t, r.Settle(t.Context(), 1))
			must(t, r.Settle(t.Context(), 1))
		}, []string{took2, "settled 2 1", settle}},
		{"Cancel", nil, func(t *testing.T, w *eventWorld) { must(t, reserve(t, w).Cancel(t.Context())) },
			[]string{took2, "store_call cancel 0s false"}},
		{"Reserve of a slot that comes too late", nil, func(t *testing.T, w *eventWorld) {
			use(t, w)
			use(t, w)
			ctx, cancel := context.WithTimeout(t.Context(), 985*ms) // The slot is 980 ms away 10 ms later.
			defer cancel()
			if _, err := w.l.Reserve(ctx, "key"); !errors.Is(err, weir.ErrLimited) {
				t.Error(err)
			}
		}, []string{took, took, refused, "store_call cancel 0s false"}},
		{"Reserve whose context ends in the store", nil, func(t *testing.T, w *eventWorld) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(5*ms, cancel)
			w.store.Next(func(_ context.Context, req store.Request, base store.Store) (store.Decision, error) {
				time.Sleep(10 * ms)
				return base.Take(t.Context(), req)
			})
			if _, err := w.l.Reserve(ctx, "key"); err != context.Canceled {
				t.Error(err)
			}
		}, []string{"store_call cancel 0s false", "store_call take 10ms true"}},
		{"Settle of levels", nil, func(t *testing.T, w *eventWorld) {
			r, _, err := weir.WaitLevels(t.Context(), 0, weir.Level{Limiter: w.l, Key: "key", Cost: 2})
			must(t, err)
			must(t, r.Settle(t.Context(), 1))
		}, []string{"decision 2 allowed store", "settled 2 1", settle, take}},
		{"Settle of levels of a level that gave nothing", nil, func(t *testing.T, w *eventWorld) {
			wide := onLocal(t, weir.Config{Store: w.store, Name: "wide", Limits: []weir.Limit{plenty}, Hook: w.Observe})
			r, _, err := weir.WaitLevels(t.Context(), 0, weir.Level{Limiter: w.l, Key: "key", Cost: 2}, weir.Level{Limiter: wide, Key: "all", Peek: true})
			must(t, err)
			must(t, r.Settle(t.Context(), 1, 1))
		}, []string{"decision 2 allowed store", "settled 2 1", settle, take}},
		{"Settle of an estimate of 0", nil, func(t *testing.T, w *eventWorld) {
			r, err := w.l.ReserveN(t.Context(), "key", 0)
			must(t, err)
			must(t, r.Settle(t.Context(), 1))
		}, []string{"decision 0 allowed store, take 10ms"}},
		{"a Transport that settles", nil, func(t *testing.T, w *eventWorld) {
			for _, cost := range []int64{1, 0} {
				w.answer(t, func(c *weir.TransportConfig) {
					c.Settle = func(*http.Response, *weir.BodyEnd) (int64, bool) { return cost, true }
				}, 200, http.Header{})
			}
		}, []string{took, took, "settled 1 0", "settled 1 1", settle}},
		{"WaitLevels without the primary store", nil, func(t *testing.T, w *eventWorld) {
			w.store.Next(weirtest.Refuse(time.Second), weirtest.Decide(store.Decision{Allowed: true, Degraded: true, Source: store.SourceFallback}))
			_, _, err := weir.WaitLevels(t.Context(), time.Minute, weir.Level{Limiter: w.l, Key: "key"})
			must(t, err)
		}, []string{"decision 1 allowed fallback", "store_call take 0s false", "store_call take 0s false", "wait allowed 0s false", "wait_begin limited"}},
		{"DoN", nil, func(t *testing.T, w *eventWorld) {
			must(t, w.l.DoN(t.Context(), "key", 2, func(context.Context) (int64, error) { return 1, nil }))
		}, []string{took2, "settled 2 1", settle}},
		{"Pause", nil, func(t *testing.T, w *eventWorld) { must(t, w.l.Pause(t.Context(), "key", time.Minute)) },
			[]string{"paused hand 1m0s", brake}},
		{"PauseBy", nil, func(t *testing.T, w *eventWorld) { must(t, w.l.PauseBy(t.Context(), "key", time.Minute, "penalty")) },
			[]string{"paused penalty 1m0s", brake}},
		{"a pause that can't be", nil, func(t *testing.T, w *eventWorld) {
			if w.l.Pause(t.Context(), "key", 0) == nil || w.l.PauseBy(t.Context(), "key", -1, "penalty") == nil {
				t.Error("paused")
			}
		}, nil},
		{"Resume", nil, func(t *testing.T, w *eventWorld) { must(t, w.l.Resume(t.Context(), "key")) }, []string{"lifted hand", brake}},
		{"Reset", nil, func(t *testing.T, w *eventWorld) { must(t, w.l.Reset(t.Context(), "key")) }, []string{"store_call reset 0s false"}},
		{"a response that says nothing", nil, func(t *testing.T, w *eventWorld) { w.answer(t, nil, 200, http.Header{}) }, []string{took}},
		{"a refusal with a time", nil, func(t *testing.T, w *eventWorld) { w.answer(t, nil, 429, http.Header{"Retry-After": {"2"}}) },
			[]string{took, "paused upstream 2s", "refusal 429 2s", brake}},
		{"a refusal without a time", nil, func(t *testing.T, w *eventWorld) { w.answer(t, nil, 429, http.Header{}) },
			[]string{took, "refusal 429 0s", "slowed upstream", brake}},
		{"a refusal that is ignored", nil, func(t *testing.T, w *eventWorld) {
			w.answer(t, func(c *weir.TransportConfig) { c.IgnoreUpstream = true }, 429, http.Header{"Retry-After": {"2"}})
		},
			[]string{took}},
		{"a budget", nil, func(t *testing.T, w *eventWorld) {
			w.answer(t, nil, 200, http.Header{"Ratelimit": {`"day";r=700;t=60`}, "Ratelimit-Policy": {`"day";q=1000;w=86400`}})
		}, []string{`budget "day" 700/1000 until 1m0s`, took}},
		{"a budget without a reset", nil, func(t *testing.T, w *eventWorld) {
			w.answer(t, nil, 200, http.Header{"X-Ratelimit-Limit": {"1000"}, "X-Ratelimit-Remaining": {"700"}})
		}, []string{`budget "" 700/1000`, took}},
		{"a lower limit, and then it is ours again", func(c *weir.Config) { c.Limits = []weir.Limit{weir.PerHour(7200).WithBurst(100)} }, func(t *testing.T, w *eventWorld) {
			w.answer(t, nil, 200, http.Header{"Ratelimit": {`"hour";r=50;t=3600`}, "Ratelimit-Policy": {`"hour";q=60;w=3600`}})
			time.Sleep(time.Minute)
			w.answer(t, nil, 200, http.Header{"Ratelimit": {`"hour";r=7200;t=3600`}, "Ratelimit-Policy": {`"hour";q=7200;w=3600`}})
		}, []string{`budget "hour" 50/60 until 1h0m0s`, `budget "hour" 7200/7200 until 1h0m0s`, took, took, "lifted upstream", "slowed upstream", brake, brake}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := eventWorld{toldHook: new(toldHook), store: weirtest.NewStore(localStore(t))}
				w.store.Always(weirtest.After(10*ms, weirtest.Pass()))
				cfg := weir.Config{Store: w.store, Limits: []weir.Limit{weir.PerSecond(1).WithBurst(2)}, Hook: w.Observe}
				if tt.configure != nil {
					tt.configure(&cfg)
				}
				w.l = onLocal(t, cfg)
				tt.act(t, &w)
				time.Sleep(100 * ms)
				if got := w.lines(t); !slices.Equal(got, tt.want) {
					t.Errorf("the hook got\n%q, want\n%q", got, tt.want)
				}
				if waiting, held := w.l.Stats(); waiting+held != 0 {
					t.Errorf("%d wait, %d leases at the end", waiting, held)
				}
			})
		})
	}
}

// TestEventResult: each outcome has a word.
func TestEventResult(t *testing.T) {
	t.Parallel()
	limited := &weir.LimitedError{Reason: weir.ReasonPaused}
	for _, tt := range []struct {
		e    weir.Event
		want string
	}{
		{weir.Event{}, ""},
		{weir.Event{Kind: weir.EventPaused}, ""},
		{weir.Event{Kind: weir.EventDecision, Decision: weir.Decision{Reason: weir.ReasonNeverFits}}, "never_fits"},
		{weir.Event{Kind: weir.EventWait}, "allowed"},
		{weir.Event{Kind: weir.EventWait, Err: fmt.Errorf("around: %w", limited)}, "paused"},
		{weir.Event{Kind: weir.EventWait, Err: context.Canceled}, "canceled"},
		{weir.Event{Kind: weir.EventWait, Err: context.DeadlineExceeded}, "deadline"},
		{weir.Event{Kind: weir.EventStoreCall}, "answered"},
		{weir.Event{Kind: weir.EventStoreCall, Err: &weir.StoreError{Op: "take", Err: context.DeadlineExceeded}}, "store_error"},
		{weir.Event{Kind: weir.EventStoreCall, Err: weir.ErrUnsupported}, "error"},
	} {
		if got := tt.e.Result(); got != tt.want {
			t.Errorf("%v with %v: %q, want %q", tt.e.Kind, tt.e.Err, got, tt.want)
		}
	}
}

// TestObserveFallback: the hook gets each change of a primary store.
func TestObserveFallback(t *testing.T) {
	t.Parallel()
	h, down := new(toldHook), errors.New("down")
	change := weir.ObserveFallback(h.Observe, "redis")
	change(store.Change{Err: down, After: time.Hour})
	change(store.Change{After: time.Second})
	want := []weir.Event{
		{Kind: weir.EventFallback, Scope: "redis", Took: time.Hour, Err: down},
		{Kind: weir.EventFallback, Scope: "redis", Took: time.Second},
	}
	if got := h.of(weir.EventFallback); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the hook got %+v, want %+v", got, want)
	}
}

// TestHooksAllocateNothing: an event costs its hook's own allocations alone.
func TestHooksAllocateNothing(t *testing.T) {
	if long.Race {
		t.Skip("the race detector allocates")
	}
	var decisions int64
	hook := func(_ context.Context, e weir.Event) {
		if e.Kind == weir.EventDecision {
			decisions += e.Cost
		}
	}
	for name, s := range map[string]weir.Store{"prepared": localStore(t), "asked": freeStore{}} {
		l := onLocal(t, weir.Config{Store: s, Limits: []weir.Limit{weir.PerSecond(1 << 40)}, Hook: hook})
		for method, call := range map[string]func() error{
			"Allow": func() error { _, err := l.Allow(context.Background(), "key"); return err },
			"Wait":  func() error { return l.Wait(context.Background(), "key") },
		} {
			if n := testing.AllocsPerRun(500, func() {
				if err := call(); err != nil {
					t.Error(err)
				}
			}); n != 0 {
				t.Errorf("%s, %s: %v allocations", name, method, n)
			}
		}
	}
	if decisions != 4*501 {
		t.Errorf("the hook got %d decisions", decisions)
	}
}

// BenchmarkHook compares a decision in memory without a Hook, with one, and by a Store.
func BenchmarkHook(b *testing.B) {
	var n int64
	hook := func(_ context.Context, e weir.Event) { n += e.Cost }
	for _, bb := range []struct {
		name string
		hook weir.Hook
		s    func(weir.Store) weir.Store
	}{
		{"prepared/none", nil, nil},
		{"prepared/set", hook, nil},
		{"asked/none", nil, func(weir.Store) weir.Store { return freeStore{} }},
		{"asked/set", hook, func(weir.Store) weir.Store { return freeStore{} }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			l := onPrepared(b, weir.PerSecond(1<<40).WithBurst(1<<40), func(c *weir.Config) {
				if c.Hook = bb.hook; bb.s != nil {
					c.Store = bb.s(c.Store)
				}
			})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Allow(context.Background(), "key"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
