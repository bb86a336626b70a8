package promweir

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goweir/weir"
)

const (
	// maxLimits bounds the limits of a limiter that have series of their own.
	maxLimits = 64
	// maxBudgets bounds the budgets of an upstream that have series.
	maxBudgets = 16
)

// limiters holds the resolved series of all limiters, so that a decision looks up no
// labels.
type limiters struct {
	decisions *prometheus.CounterVec
	near      *prometheus.CounterVec
	limit     *prometheus.GaugeVec
	remaining *prometheus.GaugeVec

	mu  sync.Mutex // of changes to all
	all atomic.Pointer[map[string]*limiter]
}

// limiter holds the resolved series of one limiter.
type limiter struct {
	of   *limiters
	name string

	first  atomic.Pointer[limit]
	limits atomic.Pointer[map[weir.Limit]*limit]
	mu     sync.Mutex // of changes to limits
	other  limit      // of all limits after the first

	budgets  sync.Mutex // of named
	budgeted map[string]budget
}

func (c *limiters) open() { c.all.Store(&map[string]*limiter{}) }

// named returns the series of a limiter.
func (c *limiters) named(name string) *limiter {
	if l := (*c.all.Load())[name]; l != nil {
		return l
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := *c.all.Load()
	if l := old[name]; l != nil {
		return l
	}
	l := &limiter{of: c, name: name, budgeted: make(map[string]budget)}
	l.other = limit{of: l, policy: "other"}
	l.limits.Store(&map[weir.Limit]*limit{})
	all := maps.Clone(old)
	all[name] = l
	c.all.Store(&all)
	return l
}

// limit holds the resolved series of one limit.
type limit struct {
	of        *limiter
	limit     weir.Limit
	policy    string
	near      atomic.Pointer[prometheus.Counter]
	decisions [8][8]atomic.Pointer[prometheus.Counter] // by reason and source
}

// limit returns the series of a limit.
func (l *limiter) limit(of *weir.Limit) *limit {
	if first := l.first.Load(); first != nil && first.limit == *of {
		return first // Most limiters have one, and a map costs 30 ns.
	}
	all := *l.limits.Load()
	if found := all[*of]; found != nil {
		return found
	}
	if len(all) == maxLimits {
		return &l.other
	}
	return l.add(*of)
}

// add makes the series of a limit, unless there are too many.
func (l *limiter) add(of weir.Limit) *limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := *l.limits.Load()
	if found := old[of]; found != nil {
		return found
	}
	if len(old) == maxLimits {
		return &l.other
	}
	all, made := maps.Clone(old), &limit{of: l, limit: of, policy: of.Policy()}
	l.first.CompareAndSwap(nil, made)
	all[of] = made
	l.limits.Store(&all)
	return made
}

// decided counts a decision.
func (l *limit) decided(d *weir.Decision, cost int64) {
	reason, source := min(d.Reason, 7), min(d.Source, 7)
	counter := &l.decisions[reason][source]
	if counter.Load() == nil {
		made := l.of.of.decisions.WithLabelValues(l.of.name, l.policy, reason.String(), source.String())
		counter.Store(&made)
	}
	(*counter.Load()).Inc()
	if max := d.Limit.Max(); d.Allowed && cost > 0 && max >= 5 && d.Remaining*5 <= max {
		if l.near.Load() == nil {
			made := l.of.of.near.WithLabelValues(l.of.name, l.policy)
			l.near.Store(&made)
		}
		(*l.near.Load()).Inc()
	}
}

// budget holds the series of an upstream's budget.
type budget struct{ limit, remaining prometheus.Gauge }

// told sets the series of a budget. -1 is a value that the response does not name.
func (l *limiter) told(name string, limit, remaining int64) {
	name = clean(name)
	l.budgets.Lock()
	defer l.budgets.Unlock()
	b, ok := l.budgeted[name]
	if !ok && len(l.budgeted) == maxBudgets {
		return
	}
	if b.limit == nil && limit >= 0 {
		b.limit = l.of.limit.WithLabelValues(l.name, name)
	}
	if b.remaining == nil && remaining >= 0 {
		b.remaining = l.of.remaining.WithLabelValues(l.name, name)
	}
	l.budgeted[name] = b
	if limit >= 0 {
		b.limit.Set(float64(limit))
	}
	if remaining >= 0 {
		b.remaining.Set(float64(remaining))
	}
}
