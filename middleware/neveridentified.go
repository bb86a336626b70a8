package middleware

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
)

// ErrNeverIdentified goes to Config.OnError and slog's default logger, once, when
// none of the first 100 requests of a middleware had an identity. The middleware is
// probably mounted before the authentication, and no limit of a user holds: see
// Order in the package's documentation.
var ErrNeverIdentified = errors.New("middleware: none of the first " + strconv.Itoa(firstRequests) +
	" requests had an identity: mount the limiter after the authentication")

// firstRequests without an identity are enough: a server without users yet sees
// fewer, or is worth a look.
const firstRequests = 100

// identities notes whether there are requests with an identity.
type identities struct {
	any  atomic.Bool
	none atomic.Int64 // requests before that
}

func (i *identities) found() {
	if !i.any.Load() {
		i.any.Store(true)
	}
}

// missed notes a request without an identity, and reports whether it is the one to
// warn at.
func (i *identities) missed() bool {
	return !i.any.Load() && i.none.Add(1) == firstRequests
}

// warnNeverIdentified logs ErrNeverIdentified and returns it.
func warnNeverIdentified(ctx context.Context, limiter string) error {
	slog.ErrorContext(ctx, ErrNeverIdentified.Error(), "limiter", limiter)
	return ErrNeverIdentified
}
