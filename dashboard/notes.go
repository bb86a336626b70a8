package dashboard

import (
	"maps"
	"slices"
	"strings"
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

const maxReasons = 1000

// reasons remembers why this process slowed a key down. It is safe for concurrent use.
type reasons struct {
	mu  sync.Mutex
	all map[fullKey]reason
}

type reason struct {
	text string
	ends time.Time
}

// set stores a reason until a time. An empty text removes the reason.
func (r *reasons) set(k fullKey, text string, ends time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text == "" {
		delete(r.all, k)
		return
	}
	if r.all == nil {
		r.all = map[fullKey]reason{}
	}
	if len(r.all) >= maxReasons {
		maps.DeleteFunc(r.all, func(_ fullKey, old reason) bool { return old.ends.Before(time.Now()) })
	}
	if len(r.all) < maxReasons && len(k.key) <= maxKeptKey {
		k.key = strings.Clone(k.key) // A key may be part of a large text.
		r.all[k] = reason{text, ends}
	}
}

// slowed stores a reason, unless the reason of a pause still applies.
func (r *reasons) slowed(k fullKey, text string, ends time.Time) {
	r.mu.Lock()
	old := r.all[k]
	r.mu.Unlock()
	if old.text == "" || old.text == text || old.ends.Before(time.Now()) {
		r.set(k, text, ends)
	}
}

// copy returns the texts that still apply.
func (r *reasons) copy(now time.Time) map[fullKey]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := make(map[fullKey]string, len(r.all))
	for k, one := range r.all {
		if one.ends.After(now) {
			texts[k] = one.text
		}
	}
	return texts
}
