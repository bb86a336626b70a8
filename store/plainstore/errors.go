package plainstore

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/goweir/weir/store"
)

// ErrState is returned if a counter's key holds another type, or no number: it belongs to
// another program. Reset the key to go on.
var ErrState = errors.New("plainstore: the key holds something else")
var errZero = &store.ConfigError{Field: "plainstore.Store", Want: "one made by New", Got: "a zero one"}

// foreign matches the server's and the client's errors about a foreign value.
var foreign = regexp.MustCompile(`WRONGTYPE|not an integer|would overflow|strconv\.Parse`)

// classify returns ErrState for an error about a foreign value.
func classify(err error) error {
	if err != nil && foreign.MatchString(err.Error()) {
		return &kindError{ErrState, err}
	}
	return err
}

// kindError matches its kind and its cause.
type kindError struct{ kind, cause error }

func (e *kindError) Unwrap() []error { return []error{e.kind, e.cause} }

func (e *kindError) Error() string {
	if e.kind == ErrState {
		return ErrState.Error() + ": " + e.cause.Error()
	}
	return "plainstore: " + strings.TrimPrefix(e.cause.Error(), "weir: ")
}

// OfOneKey implements the KeyError of package fallback: a foreign value under one key
// is no outage.
func (e *kindError) OfOneKey() bool { return e.kind == ErrState }

// maxLimits is the maximum number of limits of a key.
const maxLimits = 8

// supported returns an error for a request that plain commands can't serve.
func supported(req *store.Request) error {
	first := &req.Charges[0]
	switch {
	case req.MaxWait > 0:
		return unsupported("Request.MaxWait", "0 (calls can't wait here: use Limiter.Allow, or Refuse of a Transport)", req.MaxWait.String())
	case req.Cancelable:
		return unsupported("Request.Cancelable", "false", "true")
	case req.Hold.Asked():
		return unsupported("Request.Hold", "none", "a lease of "+req.Hold.Lease.String())
	case len(req.Charges) > maxLimits:
		return unsupported("Request.Charges", "at most 8", strconv.Itoa(len(req.Charges)))
	}
	for i := range req.Charges {
		switch c := &req.Charges[i]; {
		case c.Limit.Algorithm != store.FixedWindow:
			return unsupported("Charge.Limit.Algorithm", store.FixedWindow.String()+" (by Limit.By)", c.Limit.Algorithm.String())
		case c.Key != first.Key || c.Scope != first.Scope:
			return unsupported("Request.Charges", "one scope and key", "several")
		case c.Reserve > 0:
			return unsupported("Charge.Reserve", "0", strconv.FormatInt(c.Reserve, 10))
		}
	}
	return nil
}

func unsupported(field, want, got string) error {
	return &kindError{store.ErrUnsupported, &store.ConfigError{Field: field, Want: want, Got: got}}
}
