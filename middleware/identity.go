package middleware

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/goweir/weir"
)

// NoKey is what a request gets that has no key to be counted under: see NoKey,
// BadKey and KeyFailure of [Config]. A refusal has no Retry-After: nobody
// knows when the request would have a key.
type NoKey uint8

const (
	// NoKeyRefuse answers what the field says: 401 for NoKey, 400 for BadKey,
	// 500 for KeyFailure.
	NoKeyRefuse NoKey = iota
	// NoKeyUnlimited lets the request pass without any limit: whoever brings it
	// about is free. Only where something else refuses them.
	NoKeyUnlimited
	// NoKeyAnonymous counts the request under Config.AnonymousKey, one key for
	// everybody of whom no key is known: one of them can use it up for all.
	NoKeyAnonymous
	// NoKeyUnauthorized answers 401, with Config.Challenge.
	NoKeyUnauthorized
	// NoKeyForbidden answers 403.
	NoKeyForbidden
	// NoKeyTooMany answers 429: as for somebody with a limit of nothing.
	NoKeyTooMany
	// NoKeyError answers 500.
	NoKeyError
	// NoKeyUnavailable answers 503.
	NoKeyUnavailable

	noKeys
)

// statuses are the answers of the policies that refuse, beside NoKeyRefuse.
var statuses = [noKeys]int{
	NoKeyUnauthorized: http.StatusUnauthorized,
	NoKeyForbidden:    http.StatusForbidden,
	NoKeyTooMany:      http.StatusTooManyRequests,
	NoKeyError:        http.StatusInternalServerError,
	NoKeyUnavailable:  http.StatusServiceUnavailable,
}

// Why a request has no key, with the answers of NoKeyRefuse.
var (
	unidentified = problem{http.StatusUnauthorized, "The request does not say who it is from."}
	ambiguous    = problem{http.StatusBadRequest, "The request says more than once who it is from."}
	malformed    = problem{http.StatusBadRequest, "The request says in no valid form who it is from."}
)

// instead returns the key that counts for a request of which Key did not find
// one. If there is none, it returns whether the request passes, and has answered
// if not.
func (g *Guard) instead(w http.ResponseWriter, r *http.Request, err error) (key string, ok bool) {
	policy, p, failed := g.cfg.KeyFailure, broken, false
	switch {
	case errors.Is(err, weir.ErrConfig):
		policy, failed = NoKeyRefuse, true
	case errors.Is(err, weir.ErrAmbiguousKey):
		policy, p = g.cfg.BadKey, ambiguous
	case errors.Is(err, weir.ErrMalformedKey):
		policy, p = g.cfg.BadKey, malformed
	case err == nil, errors.Is(err, weir.ErrNoKey):
		policy, p = g.cfg.NoKey, unidentified
		g.unidentified(r)
	default:
		failed = true
	}
	if failed {
		if r.Context().Err() != nil {
			_, ok = g.refuse(w, r, &ended)
			return "", ok
		}
		g.tell(r, err)
	}
	switch policy {
	case NoKeyUnlimited:
		return "", true
	case NoKeyAnonymous:
		return g.cfg.AnonymousKey, true
	case NoKeyRefuse:
	default:
		p.status = statuses[policy]
	}
	_, ok = g.challenge(w, r, &p)
	return "", ok
}

// challenge refuses a request that has no key, and says how to get one if that is
// what it lacks.
func (g *Guard) challenge(w http.ResponseWriter, r *http.Request, p *problem) (*http.Request, bool) {
	if p.status == http.StatusUnauthorized && g.cfg.Challenge != "" && !g.cfg.Shadow {
		w.Header().Add("Www-Authenticate", g.cfg.Challenge)
	}
	return g.refuse(w, r, p)
}

func (cfg *Config) validateIdentity() error {
	anonymous, unauthorized := false, cfg.NoKey == NoKeyRefuse
	for _, f := range []struct {
		name   string
		policy NoKey
	}{{"NoKey", cfg.NoKey}, {"BadKey", cfg.BadKey}, {"KeyFailure", cfg.KeyFailure}} {
		if f.policy >= noKeys {
			return invalid(f.name, "one of the policies", strconv.Itoa(int(f.policy)))
		}
		anonymous = anonymous || f.policy == NoKeyAnonymous
		unauthorized = unauthorized || f.policy == NoKeyUnauthorized
	}
	for i := range cfg.Levels {
		unauthorized = unauthorized || !cfg.Levels[i].SkipNoKey
	}
	switch {
	case anonymous && cfg.AnonymousKey == "":
		return invalid("AnonymousKey", "a key, for NoKeyAnonymous", "none")
	case !anonymous && cfg.AnonymousKey != "":
		return invalid("AnonymousKey", "none without NoKeyAnonymous", strconv.QuoteToASCII(cfg.AnonymousKey))
	case len(cfg.AnonymousKey) > 64 || !printable(cfg.AnonymousKey):
		return invalid("AnonymousKey", "at most 64 bytes of printable ASCII", strconv.QuoteToASCII(cfg.AnonymousKey))
	case !unauthorized && cfg.Challenge != "":
		return invalid("Challenge", "none where nothing answers 401", strconv.QuoteToASCII(cfg.Challenge))
	case !printable(cfg.Challenge):
		return invalid("Challenge", "printable ASCII", strconv.QuoteToASCII(cfg.Challenge))
	}
	return nil
}
