package dashboard

import (
	"maps"
	"strings"
	"sync"
	"time"
)

// maxReasons bounds the remembered reasons.
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
