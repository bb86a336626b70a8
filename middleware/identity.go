package middleware

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/goweir/weir"
)

// NoKey decides about a request without a usable key. The zero value refuses it
// with the status that [Config].OnNoKey names. Key goes before Pass, and Pass
// before Status.
type NoKey struct {
	// Key counts the request under this key, which all such requests share: one
	// client can use it up for all. Choose a key that no identity of yours can be.
	Key string
	// Pass lets the request pass without any limit. Anybody can send such a request,
	// so that something else must limit it.
	Pass bool
	// Status refuses the request with this status, of 400 to 599, without a
	// Retry-After. Another one is a mistake and answered with 500.
	Status int
}

// The refusals of requests without a usable key.
var (
	unidentified = problem{http.StatusUnauthorized, "The request does not say who it is from."}
	ambiguous    = problem{http.StatusBadRequest, "The request says more than once who it is from."}
	malformed    = problem{http.StatusBadRequest, "The request says in no valid form who it is from."}
)

// withoutKey returns the refusal of a request for which a key function returned
// err, and whether the function failed, of which OnError is told.
func withoutKey(err error) (p problem, failed bool) {
	switch {
	case errors.Is(err, weir.ErrConfig):
	case errors.Is(err, weir.ErrAmbiguousKey):
		return ambiguous, false
	case errors.Is(err, weir.ErrMalformedKey):
		return malformed, false
	case errors.Is(err, weir.ErrNoKey):
		return unidentified, false
	}
	return broken, true
}

// keyOf returns the key that a request counts under. Without one it returns
// whether the request passes, and has answered if not.
func (g *Guard) keyOf(w http.ResponseWriter, r *http.Request) (key string, ok bool) {
	key, err := g.cfg.Key(r)
	switch {
	case err == nil && key != "":
		g.identified()
		return key, true
	case err == nil:
		err = weir.ErrNoKey
	}
	p, failed := withoutKey(err)
	switch {
	case failed && r.Context().Err() != nil:
		_, ok = g.refuse(w, r, &ended)
		return "", ok
	case failed:
		g.tell(r, err)
	case p == unidentified:
		g.unidentified(r)
	}
	var instead NoKey
	if g.cfg.OnNoKey != nil && !errors.Is(err, weir.ErrConfig) {
		instead = g.cfg.OnNoKey(r, err)
	}
	switch status := instead.Status; {
	case instead.Key != "":
		return instead.Key, true
	case instead.Pass:
		return "", true
	case status >= 400 && status <= 599:
		p.status = status
	case status != 0:
		_, ok = g.fail(w, r, &broken, invalid("OnNoKey", "a status of 400 to 599", strconv.Itoa(status)))
		return "", ok
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
	if strings.ContainsFunc(cfg.Challenge, func(c rune) bool { return c < ' ' || c > '~' }) {
		return invalid("Challenge", "printable ASCII", strconv.QuoteToASCII(cfg.Challenge))
	}
	return nil
}
