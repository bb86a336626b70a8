package dashboard

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// latest keeps the last value of each of a few names, as they may come from outside: a new
// name takes the place of the oldest value. It is safe for concurrent use.
type latest[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]stamped[V]
}

type stamped[V any] struct {
	value V
	at    time.Time
}

// maxLatest bounds the names.
const maxLatest = 64

func (l *latest[K, V]) set(name K, value V, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[K]stamped[V]{}
	}
	if _, ok := l.all[name]; !ok && len(l.all) >= maxLatest {
		oldest, at := name, now
		for k, v := range l.all {
			if v.at.Before(at) {
				oldest, at = k, v.at
			}
		}
		delete(l.all, oldest)
	}
	l.all[name] = stamped[V]{value, now}
}

// rowsOf makes rows of the values.
func rowsOf[K comparable, V, R any](l *latest[K, V], now time.Time, row func(name K, value V, age int64) R, compare func(a, b R) int) []R {
	l.mu.Lock()
	defer l.mu.Unlock()
	rows := []R{}
	for name, v := range l.all {
		rows = append(rows, row(name, v.value, ms(now.Sub(v.at))))
	}
	slices.SortFunc(rows, compare)
	return rows
}

// budgetName names remaining units in responses of upstreams.
type budgetName struct{ limiter, name string }

type budget struct{ limit, remaining int64 } // negative: unknown

func budgetRow(n budgetName, b budget, age int64) upstreamRow {
	row := upstreamRow{Limiter: n.limiter, Budget: n.name, Age: age}
	if b.limit >= 0 {
		row.Limit = &b.limit
	}
	if b.remaining >= 0 {
		row.Remaining = &b.remaining
	}
	return row
}

// smallest puts the smallest remaining share first.
func smallest(x, y upstreamRow) int {
	return cmp.Or(cmp.Compare(x.share(), y.share()), cmp.Compare(x.Limiter, y.Limiter), cmp.Compare(x.Budget, y.Budget))
}

// share returns the remaining share; 2 if it is unknown.
func (r *upstreamRow) share() float64 {
	if r.Limit == nil || r.Remaining == nil || *r.Limit <= 0 {
		return 2
	}
	return float64(*r.Remaining) / float64(*r.Limit)
}

func stateRow(name, state string, age int64) fallbackRow { return fallbackRow{name, state, age} }

// openFirst puts open fallbacks first.
func openFirst(a, b fallbackRow) int {
	return cmp.Or(cmp.Compare(b.State, a.State), cmp.Compare(a.Name, b.Name))
}
