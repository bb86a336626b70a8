package dashboard

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// maxBudgets bounds the budgets: their names come from outside.
const maxBudgets = 64

// budgets are the remaining units in responses of upstreams. It is safe for concurrent
// use.
type budgets struct {
	mu  sync.Mutex
	all map[budgetName]budget
}

type budgetName struct{ limiter, name string }

type budget struct {
	limit, remaining int64 // negative: unknown
	at               time.Time
}

// set stores a budget. At maxBudgets it replaces the budget with the oldest response.
func (b *budgets) set(limiter, name string, limit, remaining int64, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := budgetName{limiter, shorten(name)}
	if _, ok := b.all[n]; !ok && len(b.all) >= maxBudgets {
		var oldest budgetName
		var at time.Time
		for k, v := range b.all {
			if at.IsZero() || v.at.Before(at) {
				oldest, at = k, v.at
			}
		}
		delete(b.all, oldest)
	}
	if b.all == nil {
		b.all = map[budgetName]budget{}
	}
	b.all[n] = budget{limit, remaining, now}
}

// rows returns the budgets, the smallest remaining share first.
func (b *budgets) rows(now time.Time) []upstreamRow {
	b.mu.Lock()
	defer b.mu.Unlock()
	rows := []upstreamRow{}
	for n, v := range b.all {
		row := upstreamRow{Limiter: n.limiter, Budget: n.name, Age: ms(now.Sub(v.at))}
		if v.limit >= 0 {
			row.Limit = &v.limit
		}
		if v.remaining >= 0 {
			row.Remaining = &v.remaining
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(x, y upstreamRow) int {
		return cmp.Or(cmp.Compare(x.share(), y.share()), cmp.Compare(x.Limiter, y.Limiter), cmp.Compare(x.Budget, y.Budget))
	})
	return rows
}

// share returns the remaining share; 2 if it is unknown.
func (r *upstreamRow) share() float64 {
	if r.Limit == nil || r.Remaining == nil || *r.Limit <= 0 {
		return 2
	}
	return float64(*r.Remaining) / float64(*r.Limit)
}

const maxFallbacks = 32

// fallbacks are the last states of fallbacks. It is safe for concurrent use.
type fallbacks struct {
	mu  sync.Mutex
	all map[string]fallbackState
}

type fallbackState struct {
	away  bool
	since time.Time
}

func (f *fallbacks) set(name string, away bool, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]fallbackState{}
	}
	if _, ok := f.all[name]; ok || len(f.all) < maxFallbacks {
		f.all[name] = fallbackState{away, now}
	}
}

// rows returns the states, open ones first.
func (f *fallbacks) rows(now time.Time) []fallbackRow {
	f.mu.Lock()
	defer f.mu.Unlock()
	rows := []fallbackRow{}
	for name, s := range f.all {
		row := fallbackRow{Name: name, State: "closed", For: ms(now.Sub(s.since))}
		if s.away {
			row.State = "open"
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b fallbackRow) int { return cmp.Or(cmp.Compare(b.State, a.State), cmp.Compare(a.Name, b.Name)) })
	return rows
}
