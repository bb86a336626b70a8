package middleware

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/goweir/weir"
)

// mark is the context of a request that a mount let pass. It is a context
// itself, and holds the header values of the response and the copy of the request
// that has it, so that passing a request on takes one allocation.
type mark struct {
	context.Context
	guard  *Guard
	key    string
	open   bool              // nothing was decided, and the mount failed open
	booked *weir.Reservation // what is settled; nil: nothing
	levels *levels           // what was counted; nil without Config.Levels
	values values
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

// String is what of the mark is fit for a log: not the request, with its headers.
func (m *mark) String() string { return fmt.Sprint(m.Context, ".WithValue(weir)") }

// GoString is String, for %#v.
func (m *mark) GoString() string { return m.String() }

// passed reports whether this mount, or one further out, let the request pass
// for a limiter and key. One that failed open speaks for no mount that fails
// closed; for the others it spares a second wait for the store.
func (g *Guard) passed(ctx context.Context, limiter *weir.Limiter, key string) bool {
	m, _ := ctx.Value(markKey{}).(*mark)
	for m != nil {
		if m.counted(limiter, key) && (!m.open || g.cfg.OnStoreFailure == FailOpen) {
			return true
		}
		m, _ = m.Context.Value(markKey{}).(*mark)
	}
	return false
}

// counted reports whether the mount counted the request by a limiter and key.
func (m *mark) counted(limiter *weir.Limiter, key string) bool {
	if m.guard.cfg.Limiter == limiter && m.key == key {
		return true
	}
	return m.levels != nil && slices.ContainsFunc(m.levels.list, func(l weir.Level) bool {
		return l.Limiter == limiter && l.Key == key
	})
}

// Done hands back to r what the server and outer handlers look for when the
// handler has returned or, as they may recover, panicked: the uploads to delete
// and the pattern that matched. They would stay on the copy that Check returned,
// or on a later one.
func (g *Guard) Done(r, passed *http.Request) {
	if r == passed {
		return
	}
	if r.MultipartForm == nil {
		r.MultipartForm = passed.MultipartForm
	}
	if r.Pattern == "" {
		r.Pattern = passed.Pattern
	}
}
