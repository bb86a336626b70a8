package dashboard

import (
	"slices"
	"sync"
	"time"
)

const (
	levelInfo    = "info"
	levelWarning = "warning"
	levelFault   = "fault"
	// maxNotes bounds the events that the page lists.
	maxNotes = 50
	// noteEvery is the minimum time between two notes of a kind: an outage must not drive
	// out all others.
	noteEvery = 5 * time.Second
)

// notes keeps the last rare events. It is safe for concurrent use.
type notes struct {
	mu   sync.Mutex
	rows []logRow // the newest last
	last map[string]time.Time
}

// add notes an event, unless there was one of its kind within noteEvery. There are few
// kinds, as they combine limiters and event kinds.
func (n *notes) add(kind, level, text string) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if at, ok := n.last[kind]; ok && now.Sub(at) < noteEvery {
		return
	}
	if n.last == nil || len(n.last) > 1000 {
		n.last = map[string]time.Time{}
	}
	n.last[kind] = now
	if len(n.rows) == maxNotes {
		n.rows = slices.Delete(n.rows, 0, 1)
	}
	n.rows = append(n.rows, logRow{At: now.UnixMilli(), Level: level, Text: shorten(text)})
}

// newest returns the events, the newest first.
func (n *notes) newest() []logRow {
	n.mu.Lock()
	defer n.mu.Unlock()
	rows := append([]logRow{}, n.rows...)
	slices.Reverse(rows)
	return rows
}
