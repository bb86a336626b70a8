package middleware

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
	"github.com/goweir/weir/internal/deadline"
)

// The refusals of requests without a usable key.
var (
	unidentified = answer.Problem{Status: http.StatusUnauthorized, Detail: "The request does not say who it is from."}
	malformed    = answer.Problem{Status: http.StatusBadRequest, Detail: "The request says in no valid form, or more than once, who it is from."}
)

// withoutKey returns the refusal of a request for which a key function returned
// err, and whether the function failed, which is an error for OnError.
func withoutKey(err error) (p answer.Problem, failed bool) {
	switch {
	case errors.Is(err, weir.ErrConfig):
	case errors.Is(err, weir.ErrMalformedKey):
		return malformed, false
	case errors.Is(err, weir.ErrNoKey):
		return unidentified, false
	}
	return broken, true
}

// askKey returns a key that is not empty, or an error.
func askKey(r *http.Request, f weir.KeyFunc) (string, error) {
	key, err := f(r)
	if err == nil && key == "" {
		err = weir.ErrNoKey
	}
	return key, err
}

// identify returns the key that a request counts under. Without one it returns
// whether the request passes, and has answered if not.
func (cfg *Config) identify(w http.ResponseWriter, r *http.Request, seen *identities) (key string, passes bool) {
	key, err := askKey(r, cfg.Key)
	if err == nil {
		seen.found()
		return key, true
	}
	p, failed := withoutKey(err)
	switch {
	case failed && deadline.Ended(r.Context()) != nil:
		return "", cfg.refuse(w, r, &ended)
	case failed:
		cfg.OnError(r, &fault{kindKey, err})
	case p == unidentified && seen.missed():
		cfg.OnError(r, ErrNeverIdentified)
	}
	var instead NoKey
	if cfg.OnNoKey != nil && !errors.Is(err, weir.ErrConfig) {
		instead = cfg.OnNoKey(r, err)
	}
	switch status := instead.Status; {
	case instead.Key != "":
		return instead.Key, true
	case instead.Pass:
		return "", true
	case status >= 400 && status <= 599:
		p.Status = status
	case status != 0:
		return "", cfg.fail(w, r, &broken, invalid("OnNoKey", "a status of 400 to 599", strconv.Itoa(status)))
	}
	return "", cfg.refuse(w, r, &p)
}

// maxKey bounds the keys that are counted as they stand, in bytes. Stores keep
// keys, and clients may choose them.
const maxKey = 1024

// bounded returns the key itself, or for a key over maxKey its start and its hash.
// Both are a byte longer than maxKey, so no client can send them as a key of its own.
func bounded(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	text := base64.RawURLEncoding.EncodeToString(sum[:])
	return key[:maxKey+1-len(text)] + text
}
