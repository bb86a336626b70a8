package promweir_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/promweir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// TestLabelsAreBounded: names from outside and limits by the call get a bounded number of
// series, whatever they hold.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	c := promweir.New()
	for i := range 1000 {
		n := strconv.Itoa(i)
		c.Observe(background, weir.Event{Kind: weir.EventBudget, Scope: "api", Budget: &upstream.Budget{Name: "b" + n, Limit: 9, Remaining: 1}})
		c.Observe(background, weir.Event{Kind: weir.EventRefusal, Scope: "api", Status: i})
		c.Observe(background, weir.Event{Kind: weir.EventDecision, Scope: "api", Key: "key" + n, Decision: weir.Decision{
			Limit: weir.Limit{Rate: int64(i + 1), Period: time.Second}, Reason: weir.Reason(i), Source: store.Source(i),
		}})
	}
	count := make(map[string]int)
	for _, line := range series(t, c) {
		name, _, _ := strings.Cut(line, "{")
		count[name]++
		if strings.Contains(line, "key") {
			t.Errorf("a key is a label: %s", line)
		}
	}
	// Each of 64 limits met one pair of a reason and a source, the others all pairs.
	for name, most := range map[string]int{"weir_upstream_limit": 16, "weir_upstream_remaining": 16, "weir_upstream_refusals_total": 7, "weir_decisions_total": 64 + 8*8} {
		if n := count[name]; n > most || n == 0 {
			t.Errorf("%s has %d series, want at most %d", name, n, most)
		}
	}
}

// TestNamesFromOutside: a scrape succeeds with any names.
func TestNamesFromOutside(t *testing.T) {
	t.Parallel()
	c := promweir.New()
	for _, name := range []string{"", "\xff", `"}`, "a\nb", strings.Repeat("é", 100), "x" + strings.Repeat("é", 100)} {
		c.Observe(background, weir.Event{Kind: weir.EventBudget, Scope: "api", Budget: &upstream.Budget{Name: name, Limit: -1, Remaining: 1}})
		c.Observe(background, weir.Event{Kind: weir.EventFallback, Scope: name})
		c.WatchFallback(name, state(0))
		c.Retried(name)
	}
	for _, line := range series(t, c) {
		if strings.HasPrefix(line, "weir_upstream_limit") || len(line) > 200 {
			t.Errorf("found %s", line)
		}
	}
}

// TestUnknownEvents: events of unknown kinds are ignored, as a later weir may add kinds.
func TestUnknownEvents(t *testing.T) {
	t.Parallel()
	c := promweir.New()
	c.Observe(background, weir.Event{})
	c.Observe(background, weir.Event{Kind: 200, Scope: "api"})
	c.Observe(background, weir.Event{Kind: weir.EventWaitBegin, Scope: "api"})
	if got := series(t, c); len(got) != 0 {
		t.Errorf("found %v", got)
	}
}

// TestConcurrentDecisions: no decision is lost while series are made.
func TestConcurrentDecisions(t *testing.T) {
	t.Parallel()
	c := promweir.New()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				c.Observe(background, weir.Event{Kind: weir.EventDecision, Scope: "api" + strconv.Itoa(i%3), Decision: weir.Decision{
					Limit: weir.Limit{Rate: int64(i%10 + 1), Period: time.Second},
				}})
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, line := range series(t, c) {
		_, n, _ := strings.Cut(line, "} ")
		value, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		sum += value
	}
	if sum != 8000 {
		t.Errorf("%d decisions, want 8000", sum)
	}
}

func TestDecisionsAllocateNothing(t *testing.T) {
	if long.Race {
		t.Skip("the race detector allocates")
	}
	for name, asked := range map[string]weir.Store{"in memory": nil, "by a call of the store": stub{}} {
		w := newWorld(t, func(c *weir.Config) {
			c.Limits = []weir.Limit{weir.PerSecond(1 << 40)}
			if asked != nil {
				c.Store = asked
			}
		})
		if n := testing.AllocsPerRun(500, func() {
			if _, err := w.l.Allow(background, "key"); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// BenchmarkDecision observes a decision's event.
func BenchmarkDecision(b *testing.B) {
	for _, limits := range []int{1, 4, 64} {
		b.Run(strconv.Itoa(limits)+" limits", func(b *testing.B) {
			c := promweir.New()
			e := weir.Event{Kind: weir.EventDecision, Scope: "api", Key: "key", Cost: 1, Decision: weir.Decision{Allowed: true}}
			for i := range limits {
				e.Decision.Limit = weir.PerSecond(int64(i + 100))
				e.Decision.Remaining = e.Decision.Limit.Rate
				c.Observe(background, e)
			}
			b.ReportAllocs()
			for b.Loop() {
				c.Observe(background, e)
			}
		})
	}
}
