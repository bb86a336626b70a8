package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// counts are the events of a stretch of time.
type counts struct {
	requests, failed, lost      int // failed are those with a 5xx
	byRedis, locally, undecided int // decisions
}

func (c *counts) add(d counts) {
	c.requests += d.requests
	c.failed += d.failed
	c.lost += d.lost
	c.byRedis += d.byRedis
	c.locally += d.locally
	c.undecided += d.undecided
}

// served counts a customer's requests so far.
type served struct{ requests, admitted, refused int64 }

// outageCount counts a replica's outages: changes to the state open, or seconds with local
// decisions, each after a second without. An unplanned outage counts as well, for example
// on a busy machine that exceeds the fallback's budget.
type outageCount struct {
	local, was bool
	seconds    int
	opened     int
}

func (o *outageCount) second() {
	if o.local && !o.was {
		o.seconds++
	}
	o.local, o.was = false, o.local
}

func newMeter(customers, replicas int) *meter {
	return &meter{customers: make([]served, customers), replicas: make([]outageCount, replicas)}
}

// meter counts events by the second. It is safe for concurrent use.
type meter struct {
	mu        sync.Mutex
	now       counts // since the last read
	latencies []time.Duration
	total     counts
	customers []served
	replicas  []outageCount
	loss      error // the error of the first lost request
}

// answered notes the end of a request.
func (m *meter) answered(customer, status int, err error, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.requests++
	m.latencies = append(m.latencies, took)
	c := &m.customers[customer]
	c.requests++
	switch {
	case err != nil:
		m.now.lost++
		if m.loss == nil {
			m.loss = err
		}
	case status == http.StatusOK:
		c.admitted++
	case status == http.StatusTooManyRequests:
		c.refused++
	default:
		m.now.failed++
	}
}

// hook notes the source of each decision in a replica.
func (m *meter) hook(replica int) weir.Hook {
	return func(_ context.Context, e weir.Event) {
		m.mu.Lock()
		defer m.mu.Unlock()
		switch {
		case e.Kind == weir.EventStoreCall && errors.Is(e.Err, weir.ErrStore):
			m.now.undecided++
		case e.Kind == weir.EventDecision && e.Decision.Degraded:
			m.now.locally++
			m.replicas[replica].local = true
		case e.Kind == weir.EventDecision:
			m.now.byRedis++
		}
	}
}

// opened notes a replica's change to the state open.
func (m *meter) opened(replica int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replicas[replica].opened++
}

// read returns the events of the second that ends now.
func (m *meter) read() second {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := second{counts: m.now, customers: slices.Clone(m.customers)}
	slices.Sort(m.latencies)
	s.p50, s.p99 = percentile(m.latencies, 50), percentile(m.latencies, 99)
	for i := range m.replicas {
		m.replicas[i].second()
		s.outages += max(m.replicas[i].seconds, m.replicas[i].opened)
	}
	m.total.add(m.now)
	m.now, m.latencies = counts{}, m.latencies[:0]
	return s
}

// summary describes the events so far.
func (m *meter) summary() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.total
	all.add(m.now)
	return fmt.Sprintf("%d requests, %d of them lost, %d answered with a 5xx", all.requests, all.lost, all.failed)
}

// percentile returns the nearest rank in sorted durations, or 0 without any.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(1, (len(sorted)*p+99)/100)-1]
}
