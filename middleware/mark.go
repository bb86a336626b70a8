package middleware

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
	"github.com/goweir/weir/internal/names"
)

// mark is the context of a request that a mount let pass. It also holds the header values
// of the response, and the copy of the request: passing it on takes one allocation.
type mark struct {
	context.Context
	open   bool              // Nothing was decided, and the mount failed open.
	booked *weir.Reservation // to be settled, with Config.Settle; nil: nothing
	list   []weir.Level      // that were counted, from narrow to wide
	one    [1]weir.Level     // room for the common case
	values answer.Values
	copy   http.Request
}

// on returns a copy of the request that has the mark.
func (m *mark) on(r *http.Request) *http.Request {
	m.copy = *r.WithContext(m)
	return &m.copy
}

type markKey struct{}

// Value implements context.Context.
func (m *mark) Value(key any) any {
	if key == (markKey{}) {
		return m
	}
	return m.Context.Value(key)
}

// String keeps the request, with its headers, out of logs.
func (m *mark) String() string { return fmt.Sprint(m.Context, ".WithValue(weir)") }

// GoString is String, for %#v.
func (m *mark) GoString() string { return m.String() }

// hasPassed reports whether this mount, or a mount further out, let the request pass for a
// limiter and key. Limiters of one name on one store are one. After a mount that failed
// open, a mount that fails closed decides anew. The others need not wait for the store again.
func hasPassed(ctx context.Context, limiter *weir.Limiter, key string, failure StoreFailure) bool {
	same := func(l weir.Level) bool {
		return l.Key == key && l.Limiter.Name() == limiter.Name() &&
			(l.Limiter == limiter || names.SameStore(l.Limiter.Config().Store, limiter.Config().Store))
	}
	for m, _ := ctx.Value(markKey{}).(*mark); m != nil; m, _ = m.Context.Value(markKey{}).(*mark) {
		if (!m.open || failure == FailOpen) && slices.ContainsFunc(m.list, same) {
			return true
		}
	}
	return false
}

// patient is a context whose deadline a connection of the store may miss by a second. A client
// may choose the deadline, and each miss costs a connection. The context ends as before.
type patient struct{ context.Context }

// Deadline implements context.Context.
func (p patient) Deadline() (time.Time, bool) {
	deadline, ok := p.Context.Deadline()
	return deadline.Add(time.Second), ok
}
