package middleware

import (
	"context"
	"net/http"

	"github.com/goweir/weir"
)

// mark is the context of a request that a mount let pass. It is a context
// itself, and holds the header values of the response, so that passing a
// request on takes one allocation besides the request's copy.
type mark struct {
	context.Context
	guard  *Guard
	key    string
	open   bool              // nothing was decided, and the mount failed open
	booked *weir.Reservation // what is settled; nil: nothing
	cost   int64             // of booked
	values values
}

type markKey struct{}

// Value implements context.Context.
func (m *mark) Value(key any) any {
	if key == (markKey{}) {
		return m
	}
	return m.Context.Value(key)
}

// passed reports whether this mount, or one further out, let the request pass
// for the same limiter and key. One that failed open speaks for no mount that
// fails closed; for the others it spares a second wait for the store.
func (g *Guard) passed(ctx context.Context, key string) bool {
	m, _ := ctx.Value(markKey{}).(*mark)
	for m != nil {
		if m.guard.cfg.Limiter == g.cfg.Limiter && m.key == key && (!m.open || g.cfg.OnStoreFailure == FailOpen) {
			return true
		}
		m, _ = m.Context.Value(markKey{}).(*mark)
	}
	return false
}

// Done hands back to r what the server and outer handlers look for when the
// handler has returned: the uploads to delete and the pattern that matched.
// They would stay on the copy that Check returned, or on a later one.
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
