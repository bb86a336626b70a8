package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// counts is what happened in some stretch of time.
type counts struct {
	requests, failed, lost     int // failed are those with a 5xx
	byRedis, locally, byNobody int // decisions
}

func (c *counts) add(d counts) {
	c.requests += d.requests
	c.failed += d.failed
	c.lost += d.lost
	c.byRedis += d.byRedis
	c.locally += d.locally
	c.byNobody += d.byNobody
}

// served is what a customer got so far.
type served struct{ requests, admitted, refused int64 }

// outageCount counts the outages that a replica saw: seconds in which it
// decided anything locally, after one in which it did not. So one that nobody
// planned counts as well, when a busy machine is slower than the fallback's
// budget allows.
type outageCount struct {
	local, was bool
	n          int
}

func (o *outageCount) second() {
	if o.local && !o.was {
		o.n++
	}
	o.local, o.was = false, o.local
}

func newMeter(customers, replicas int) *meter {
	return &meter{customers: make([]served, customers), replicas: make([]outageCount, replicas)}
}

// meter counts what happens, by the second. It is safe for concurrent use.
type meter struct {
	mu        sync.Mutex
	now       counts // since the last read
	latencies []time.Duration
	total     counts
	customers []served
	replicas  []outageCount
	loss      error // why the first request was lost
}

// answered notes how a request ended.
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

// hook notes who decided in a replica.
func (m *meter) hook(replica int) weir.Hook {
	return weir.HookFunc(func(_ context.Context, e weir.Event) {
		m.mu.Lock()
		defer m.mu.Unlock()
		switch {
		case e.Kind == weir.EventStoreError:
			m.now.byNobody++
		case e.Kind == weir.EventDecision && e.Decision.Degraded:
			m.now.locally++
			m.replicas[replica].local = true
		case e.Kind == weir.EventDecision:
			m.now.byRedis++
		}
	})
}

// read returns what happened in the second that ends now.
func (m *meter) read() second {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := second{counts: m.now, customers: slices.Clone(m.customers)}
	slices.Sort(m.latencies)
	s.p50, s.p99 = percentile(m.latencies, 50), percentile(m.latencies, 99)
	for i := range m.replicas {
		m.replicas[i].second()
		s.outages += m.replicas[i].n
	}
	m.total.add(m.now)
	m.now, m.latencies = counts{}, m.latencies[:0]
	return s
}

// summary says how it went so far.
func (m *meter) summary() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.total
	all.add(m.now)
	return fmt.Sprintf("%d requests, %d of them lost, %d answered with a 5xx", all.requests, all.lost, all.failed)
}

// percentile returns the nearest rank in sorted durations, 0 when there are
// none.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(1, (len(sorted)*p+99)/100)-1]
}
