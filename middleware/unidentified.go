package middleware

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
)

// ErrNeverIdentified is what Config.OnError is told, and slog's default logger,
// once, when none of the first requests of a middleware had an identity. It is
// then probably mounted before the authentication, and no limit of a user
// holds: see Order in the package's documentation.
var ErrNeverIdentified = errors.New("middleware: none of the first " + strconv.Itoa(firstRequests) +
	" requests had an identity: mount the limiter after the authentication")

// firstRequests is how many requests without an identity are enough: those of
// a server whose users have not come yet are fewer, or it is worth a look.
const firstRequests = 100

// identified notes that there are requests with an identity.
func (g *Guard) identified() {
	if !g.found.Load() {
		g.found.Store(true)
	}
}

// unidentified notes a request without an identity.
func (g *Guard) unidentified(r *http.Request) {
	if g.found.Load() || g.missed.Add(1) != firstRequests {
		return
	}
	slog.ErrorContext(r.Context(), ErrNeverIdentified.Error(), "limiter", g.cfg.Limiter.Name())
	g.tell(r, ErrNeverIdentified)
}
