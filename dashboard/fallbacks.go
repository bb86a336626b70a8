package dashboard

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// maxFallbacks bounds the fallbacks of a process.
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
