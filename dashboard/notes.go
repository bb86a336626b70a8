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
	// noteEvery is how often a text of one kind is noted: an outage must not drive out
	// everything else.
	noteEvery = 5 * time.Second
)

// notes keeps the last rare events. It is safe for concurrent use.
type notes struct {
	mu   sync.Mutex
	rows []logRow // the newest last
	last map[string]time.Time
}

// add notes an event, unless one of its kind was noted a moment ago. Kinds come from
// limiters and event kinds, so there are few.
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
