package middleware

import (
	"net/http"

	"github.com/goweir/weir"
)

// Level is a wider limit that a request counts against, beside Config.Limiter's.
type Level struct {
	// Limiter has the limits. Required, over the same store as Config.Limiter and
	// with a Name of its own, which is the Decision.Scope of its refusals. The policy
	// names of its limits must differ from those of all other levels. Only
	// Config.Limiter's Hook gets the decisions.
	Limiter *weir.Limiter

	// Key returns the key that a request counts under: the organisation of its user,
	// or weir.KeyStatic for everyone. Required. An empty key counts as none.
	Key weir.KeyFunc

	// Limits returns the limits of a request's key, as Config.Limits does. Clients
	// read a policy name that a narrower level has already with the Limiter's name
	// before it, as "org:10-in-1m". Nil: the Limiter's own.
	Limits func(*http.Request) ([]weir.Limit, error)

	// Cost returns how many units a request takes of this level, as Config.Cost
	// does. Nil: as many as of the request's own.
	Cost func(*http.Request) (int64, error)

	// SkipNoKey leaves requests uncounted by this level if Key finds no identity.
	// False: they are answered with 401. Either way a bad identity is answered with
	// 400 and a failure of Key with 500. Config.OnNoKey is not asked.
	SkipNoKey bool
}
