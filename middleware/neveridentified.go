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

// identities counts the requests without an identity, until one has an identity.
type identities struct{ none atomic.Int64 }

func (i *identities) found() {
	if i.none.Load() < firstRequests {
		i.none.Store(firstRequests)
	}
}

// missed notes a request without an identity, and reports whether it is the one to
// warn at.
func (i *identities) missed() bool {
	return i.none.Load() < firstRequests && i.none.Add(1) == firstRequests
}
