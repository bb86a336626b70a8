package middleware

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
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

// keyOf returns the key that a request counts under on a level. Without one it returns the
// refusal and the key function's error. The refusal is broken if the function failed, and the
// error one for OnError.
func (c *charger) keyOf(r *http.Request, l *level) (key string, p *answer.Problem, err error) {
	key, err = l.Key(r)
	if err == nil && key == "" {
		err = weir.ErrNoKey
	}
	switch {
	case err == nil:
		l.seen.found()
		return key, nil, nil
	case errors.Is(err, weir.ErrConfig):
	case errors.Is(err, weir.ErrMalformedKey):
		return "", &malformed, err
	case errors.Is(err, weir.ErrNoKey):
		if l.seen.missed() {
			never := ErrNeverIdentified
			if l != &c.levels[0] {
				never = fmt.Errorf("level %s: %w", l.Limiter.Name(), never)
			}
			c.cfg.OnError(r, never)
		}
		return "", &unidentified, err
	}
	return "", &broken, &fault{kindKey, err}
}

// identify returns the key that a request counts under. Without one it returns
// whether the request passes, and has answered if not.
func (c *charger) identify(w http.ResponseWriter, r *http.Request) (key string, passes bool) {
	cfg := c.cfg
	key, without, err := c.keyOf(r, &c.levels[0])
	switch {
	case err == nil:
		return key, true
	case without == &broken && deadline.Ended(r.Context()) != nil:
		return "", cfg.refuse(w, r, &ended)
	case without == &broken:
		cfg.OnError(r, err)
		err = errors.Unwrap(err)
	}
	p := *without
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
