// Package ended remembers leases that have ended in this process, and that a store may count
// still. A failover loses the last releases. A server that stood still, or was cut off, carries
// out requests long after their callers have left.
package ended

import (
	"slices"
	"time"
)

const (
	// most is the maximum number of leases. The latest ones stay.
	most = 4096
	// Each lease is released again up to times times, a pause apart or up to a step less, so
	// that many go together.
	times = 5
	pause = time.Second
	step  = pause / 4
)

// Leases are ended leases. The zero value has none.
type Leases struct{ list []lease }

type lease struct {
	key, id string
	next    time.Time // not released again before
	left    int       // further releases
}

// Add adds a lease that has ended just now, after its first release.
func (l *Leases) Add(key, id string) {
	l.list = append(l.list, lease{key, id, time.Now().Add(pause).Truncate(step), times})
	l.list = l.list[max(0, len(l.list)-most):]
}

// Again makes release release leases of a key once more, in the background. It is called when
// the store has no room for the key.
func (l *Leases) Again(key string, release func(key string, ids []string) error) {
	now, ids := time.Now(), []string(nil)
	for i := range l.list {
		if e := &l.list[i]; e.key == key && !now.Before(e.next) {
			ids, e.next, e.left = append(ids, e.id), now.Add(pause).Truncate(step), e.left-1
		}
	}
	if ids != nil {
		l.list = slices.DeleteFunc(l.list, func(e lease) bool { return e.left == 0 })
		go func() { _ = release(key, ids) }()
	}
}
