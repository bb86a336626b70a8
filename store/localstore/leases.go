package localstore

import "container/list"

// leases are the calls in flight of one key.
type leases struct {
	byID  map[string]*list.Element
	order list.List // of lease, by end
}

type lease struct {
	id  string
	end int64
}

// sweep forgets leases that have ended.
func (l *leases) sweep(now int64) {
	for e := l.order.Front(); e != nil && e.Value.(lease).end <= now; e = l.order.Front() {
		l.remove(e)
	}
}

func (l *leases) remove(e *list.Element) { delete(l.byID, l.order.Remove(e).(lease).id) }

// room returns the instant from which one more lease fits under the maximum, if none is
// renewed; 0: now.
func (l *leases) room(max, now int64) int64 {
	if l == nil {
		return 0
	}
	l.sweep(now)
	over := int64(l.order.Len()) - max
	if over < 0 {
		return 0
	}
	e := l.order.Front()
	for range over {
		e = e.Next()
	}
	return e.Value.(lease).end
}

// hold makes a lease, which may be new, end at an instant.
func (l *leases) hold(id string, end int64) {
	if e := l.byID[id]; e != nil {
		l.remove(e)
	}
	// Most leases have the same length, so the place is near the end.
	at := l.order.Back()
	for at != nil && at.Value.(lease).end > end {
		at = at.Prev()
	}
	if l.byID == nil {
		l.byID = make(map[string]*list.Element)
	}
	if at == nil {
		l.byID[id] = l.order.PushFront(lease{id, end})
	} else {
		l.byID[id] = l.order.InsertAfter(lease{id, end}, at)
	}
}

// lapse returns the instant from which no lease is left.
func (l *leases) lapse() int64 {
	if l == nil || l.order.Len() == 0 {
		return 0
	}
	return l.order.Back().Value.(lease).end
}
