package promweir_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/instruments"
	"github.com/goweir/weir/promweir"
	"github.com/goweir/weir/store"
)

// TestTakesCountAsOtherCalls: takes and other calls of the same times have the same
// buckets, number and sum, whichever event shows them, and a later source counts too.
func TestTakesCountAsOtherCalls(t *testing.T) {
	t.Parallel()
	c := promweir.New()
	times := []time.Duration{0, 1, time.Hour}
	for _, bound := range instruments.StoreBuckets {
		at := time.Duration(bound*1e9 + .5)
		times = append(times, at-1, at, at+1)
	}
	const callers, sources = 4, 7
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i, took := range times {
				for source := range store.Source(sources) {
					e := weir.Event{Kind: weir.EventStoreCall, Scope: "api", Op: "settle", Took: took, Decision: weir.Decision{Source: source}}
					c.Observe(background, e)
					if e.Op = "take"; i%2 == 0 {
						e.Kind = weir.EventDecision
					}
					c.Observe(background, e)
					if e.Kind == weir.EventDecision {
						e.Op = ""
						c.Observe(background, e) // without a call
					}
				}
			}
		})
	}
	wg.Wait()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range families {
		if f.GetName() != "weir_store_duration_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels, h := map[string]string{}, m.GetHistogram()
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			text := fmt.Sprintf("%d %.6f", h.GetSampleCount(), h.GetSampleSum())
			for _, b := range h.GetBucket() {
				text += fmt.Sprint(" ", b.GetUpperBound(), ":", b.GetCumulativeCount())
			}
			if labels["result"] != "answered" || labels["limiter"] != "api" {
				t.Errorf("found %v", labels)
			}
			found[labels["operation"]+" "+labels["source"]] = text
		}
	}
	for _, source := range []string{"store", "deny_cache", "lease", "fallback", "limiter", "unknown"} {
		if take, settle := found["take "+source], found["settle "+source]; take != settle || take == "" {
			t.Errorf("source %s:\ntake   %s\nsettle %s", source, take, settle)
		}
	}
	if len(found) != 2*6 {
		t.Errorf("found %v", found)
	}
}
