package middleware

import (
	"errors"
	"strconv"
	"sync/atomic"
)

// ErrNeverIdentified goes to Config.OnError, once, when none of the first 100
// requests of a middleware had an identity. No limit of a user holds then. Probably
// the middleware is mounted before the authentication (see Order in the package's
// documentation), or the key function reads another place than the authentication
// writes (see weirgin.Key and weirecho.Key).
var ErrNeverIdentified = errors.New("middleware: none of the first " + strconv.Itoa(firstRequests) +
	" requests had an identity: the authentication runs behind the limiter, or hands it on elsewhere than" +
	" in the request's context (mount the limiter after the authentication, and see weirgin.Key and weirecho.Key)")

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
