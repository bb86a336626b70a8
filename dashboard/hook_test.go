package dashboard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// shown makes a frame of the process alone.
func shown(d *Dashboard) *frame { return d.frame(view{}, time.Now()) }

func TestNoEventNoProcess(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{})
	if p := shown(d).Process; p != nil {
		t.Errorf("%+v", p)
	}
}

func TestLimiterRow(t *testing.T) {
	t.Parallel()
	begin := weir.Event{Kind: weir.EventWaitBegin}
	for name, test := range map[string]struct {
		events []weir.Event
		want   limiterRow
	}{
		"admitted": {[]weir.Event{{Kind: weir.EventDecision, Decision: weir.Decision{Allowed: true}}}, limiterRow{Admitted: 1, AdmittedRate: .1}},
		"refused": {
			[]weir.Event{{Kind: weir.EventDecision, Decision: weir.Decision{Reason: weir.ReasonPaused}}, {Kind: weir.EventDecision, Decision: weir.Decision{Reason: 200}}},
			limiterRow{Refused: map[string]int64{"paused": 1, "unknown": 1}, RefusedRate: .2},
		},
		"degraded":       {[]weir.Event{{Kind: weir.EventDecision, Decision: weir.Decision{Allowed: true, Degraded: true}}}, limiterRow{Admitted: 1, Degraded: 1, AdmittedRate: .1}},
		"waits":          {[]weir.Event{begin, begin}, limiterRow{Waiting: 2}},
		"waited":         {[]weir.Event{begin, {Kind: weir.EventWait}}, limiterRow{}},
		"an end alone":   {[]weir.Event{{Kind: weir.EventWait}}, limiterRow{}},
		"a store error":  {[]weir.Event{{Kind: weir.EventStoreCall, Err: &weir.StoreError{Op: "take", Err: errors.New("no")}}}, limiterRow{StoreErrors: 1}},
		"a future event": {[]weir.Event{{Kind: 250}}, limiterRow{}},
		"a budget":       {[]weir.Event{{Kind: weir.EventBudget, Budget: new(upstream.Budget)}}, limiterRow{}},
		"a decision of the store": {
			[]weir.Event{{Kind: weir.EventDecision, Op: "take", Decision: weir.Decision{Allowed: true}}}, limiterRow{Admitted: 1, AdmittedRate: .1},
		},
		"a store call":  {[]weir.Event{{Kind: weir.EventStoreCall}}, limiterRow{}},
		"a settlement":  {[]weir.Event{{Kind: weir.EventSettled}}, limiterRow{}},
		"an ended call": {[]weir.Event{{Kind: weir.EventStoreCall, Err: context.Canceled}}, limiterRow{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDashboard(t, Config{})
				for _, e := range test.events {
					e.Scope, e.Key = "api", "user:1"
					d.Observe(t.Context(), e)
				}
				time.Sleep(time.Second)
				test.want.Limiter = "api"
				if test.want.Refused == nil {
					test.want.Refused = map[string]int64{}
				}
				if got := shown(d).Process.Limiters; len(got) != 1 || !reflect.DeepEqual(got[0], test.want) {
					t.Errorf("got  %+v\nwant %+v", got, test.want)
				}
			})
		})
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDashboard(t, Config{})
		decide := func(allowed bool, n int) {
			for range n {
				d.Observe(t.Context(), weir.Event{Kind: weir.EventDecision, Scope: "api", Decision: weir.Decision{Allowed: allowed, Reason: weir.ReasonLimited}})
			}
		}
		decide(true, 3)
		time.Sleep(time.Second)
		decide(true, 2)
		decide(false, 5)
		d.Observe(t.Context(), weir.Event{Kind: weir.EventStoreCall, Op: "brake", Scope: "api", Took: 2 * time.Millisecond})
		d.Observe(t.Context(), weir.Event{Kind: weir.EventStoreCall, Op: "take", Scope: "api", Took: time.Second, Decision: weir.Decision{Source: store.SourceDenyCache}})
		time.Sleep(3 * time.Second)
		decide(true, 1)
		time.Sleep(time.Second)
		d.counts.tick(time.Now())
		p := d.counts.since(0, true, true)
		if got, want := texts(p.Admitted), "[3 2 0 0 1]"; got != want {
			t.Errorf("admitted %v, want %v", got, want)
		}
		if got, want := texts(p.Refused), "[0 5 0 0 0]"; got != want {
			t.Errorf("refused %v, want %v", got, want)
		}
		if got, want := texts(p.P50), "[- 1.98 - - -]"; got != want {
			t.Errorf("median %v, want %v", got, want)
		}
		if got, want := texts(p.Fleet), "[- - - - -]"; got != want {
			t.Errorf("without a reading: %v, want %v", got, want)
		}
		if got := d.counts.since(p.Time[3], true, false).Time; !reflect.DeepEqual(got, p.Time[3:]) {
			t.Errorf("since %d: %v", p.Time[3], got)
		}
		time.Sleep(2 * historySeconds * time.Second)
		decide(true, 1)
		p = d.counts.since(0, true, false)
		if n := len(p.Time); n != historySeconds || p.Time[n-1] != time.Now().Unix()-1 || *p.Admitted[n-1] != 0 {
			t.Errorf("%d seconds after a long silence", n)
		}
	})
}

// texts writes a column with one digit, unknown values as -.
func texts(column []*float64) string {
	list := make([]string, len(column))
	for i, v := range column {
		list[i] = "-"
		if v != nil {
			list[i] = fmt.Sprintf("%.3g", *v)
		}
	}
	return fmt.Sprint(list)
}

func TestStoreCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDashboard(t, Config{})
		d.counts.tick(time.Now())
		for i := range 100 {
			e := weir.Event{Kind: weir.EventDecision, Op: "take", Scope: "api", Took: time.Duration(i+1) * time.Millisecond}
			if i%2 == 1 {
				e.Kind, e.Op = weir.EventStoreCall, "settle"
			}
			d.Observe(t.Context(), e)
		}
		d.Observe(t.Context(), weir.Event{Kind: weir.EventDecision, Scope: "api"}) // without a call
		time.Sleep(time.Second)
		d.counts.tick(time.Now())
		time.Sleep(time.Second)
		d.counts.tick(time.Now())
		p := d.counts.since(0, true, false)
		if *p.P50[0] < 45 || *p.P50[0] > 55 || *p.P99[0] < 90 || *p.P99[0] > 108 {
			t.Errorf("%v, %v", *p.P50[0], *p.P99[0])
		}
		if p.P50[1] != nil || p.P99[1] != nil {
			t.Errorf("a second later: %v, %v", p.P50[1], p.P99[1])
		}
	})
}

func TestLogRow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		event       weir.Event
		level, text string // none: no row
	}{
		"a store error":   {weir.Event{Kind: weir.EventStoreCall, Err: &weir.StoreError{Op: "take", Err: errors.New("no route")}}, levelFault, "api: weir: store: take: no route"},
		"a lost lease":    {weir.Event{Kind: weir.EventLeaseLost}, levelWarning, "api user:1: a call in flight is not counted any more"},
		"a refusal":       {weir.Event{Kind: weir.EventRefusal, Status: 503}, levelWarning, "api user:1: the upstream refused with 503"},
		"with a time":     {weir.Event{Kind: weir.EventRefusal, Status: 429, Pause: time.Minute}, levelWarning, "api user:1: the upstream refused with 429 and asked for 1m0s"},
		"by hand":         {weir.Event{Kind: weir.EventPaused, By: "hand", Pause: time.Minute}, levelInfo, "api user:1: paused for 1m0s, by hand"},
		"a penalty":       {weir.Event{Kind: weir.EventPaused, By: "penalty", Pause: time.Second}, levelInfo, "api user:1: paused for 1s, a penalty"},
		"by a program":    {weir.Event{Kind: weir.EventPaused, By: "billing", Pause: time.Second}, levelInfo, "api user:1: paused for 1s, billing"},
		"by the upstream": {weir.Event{Kind: weir.EventPaused, By: "upstream", Pause: time.Minute}, "", ""},
		"resumed":         {weir.Event{Kind: weir.EventLifted, By: "hand"}, levelInfo, "api user:1: resumed by hand"},
		"recovered":       {weir.Event{Kind: weir.EventLifted, By: "upstream"}, "", ""},
		"a decision":      {weir.Event{Kind: weir.EventDecision}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDashboard(t, Config{ShowKeys: true})
			test.event.Scope, test.event.Key = "api", "user:1"
			d.Observe(t.Context(), test.event)
			d.Observe(t.Context(), test.event) // Repeated at once, it makes one row.
			got := shown(d).Log
			switch {
			case test.text == "" && len(got) > 0, test.text != "" && (len(got) != 1 || got[0].Level != test.level || got[0].Text != test.text):
				t.Errorf("%+v, want %s %q", got, test.level, test.text)
			}
		})
	}
}

func TestFallbackRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDashboard(t, Config{})
		change := weir.ObserveFallback(d.Observe, "redis")
		if got := shown(d).Fallback; len(got) != 0 {
			t.Errorf("before: %+v", got)
		}
		change(store.Change{Err: errors.New("refused"), After: time.Hour})
		time.Sleep(3 * time.Second)
		if got := shown(d); !reflect.DeepEqual(got.Fallback, []fallbackRow{{"redis", "open", 3000}}) || got.Log[0].Text != "redis: the store went away after 1h0m0s: refused" {
			t.Errorf("away: %+v %+v", got.Fallback, got.Log)
		}
		change(store.Change{After: 3 * time.Second})
		if got := shown(d); !reflect.DeepEqual(got.Fallback, []fallbackRow{{"redis", "closed", 0}}) || got.Log[0].Text != "redis: the store is back after 3s" || len(got.Process.Limiters) != 0 {
			t.Errorf("back: %+v %+v", got.Fallback, got.Log)
		}
	})
}

func TestUpstreamRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDashboard(t, Config{})
		say := func(name string, limit, remaining int64) {
			d.Observe(t.Context(), weir.Event{Kind: weir.EventBudget, Scope: "api", Budget: &upstream.Budget{Name: name, Limit: limit, Remaining: remaining}})
		}
		say("core", 100, 50)
		say("search", 10, 1)
		say("", -1, 7)
		time.Sleep(time.Second)
		say("core", 100, 49)
		want := []upstreamRow{
			{"api", "search", number[int64](10), number[int64](1), 1000},
			{"api", "core", number[int64](100), number[int64](49), 0},
			{"api", "", nil, number[int64](7), 1000},
		}
		if got := shown(d).Upstream; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v", got)
		}
		for i := range 2 * maxLatest {
			time.Sleep(time.Second)
			say(fmt.Sprint("other", i), 1, 1)
		}
		if got := shown(d).Upstream; len(got) != maxLatest {
			t.Errorf("%d budgets", len(got))
		}
	})
}

func TestWaitingRowOfThisProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDashboard(t, Config{ShowKeys: true})
		d.Observe(t.Context(), weir.Event{Kind: weir.EventWaitBegin, Scope: "api", Key: "a"})
		time.Sleep(2 * time.Second)
		d.Observe(t.Context(), weir.Event{Kind: weir.EventWaitBegin, Scope: "api", Key: "a"})
		time.Sleep(time.Second)
		if got := shown(d).Waiting; len(got) != 1 || got[0].Key != "a" || got[0].Calls != 2 || got[0].Here != 2 || got[0].Oldest != 3000 {
			t.Errorf("two: %+v", got)
		}
		d.Observe(t.Context(), weir.Event{Kind: weir.EventWait, Scope: "api", Key: "a", Took: 3 * time.Second})
		if got := shown(d).Waiting; len(got) != 1 || got[0].Oldest != 1000 {
			t.Errorf("one: %+v", got)
		}
		d.Observe(t.Context(), weir.Event{Kind: weir.EventWait, Scope: "api", Key: "a", Took: time.Second})
		if got := shown(d); len(got.Waiting) != 0 || got.Process.Waiting != 0 || d.calls.waits != 0 {
			t.Errorf("none: %+v", got.Waiting)
		}
	})
}
