package weir

import (
	"context"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/goweir/weir/internal/httptoken"
)

// KeyFunc says who a request counts against. It returns an error that matches
// [ErrNoKey] when the request has no identity, one that matches
// [ErrAmbiguousKey] when it states its identity more than once, and any other
// error when the identity could not be determined. It must not change the
// request nor read its body, and is called from many goroutines at once.
//
// A limit is worth as much as its key is hard to invent: whoever controls the
// key gets a fresh allowance with each new one. Every function here says who
// controls its key. Made from something unusable, as a nil function or a
// header name with a space in it, they return a KeyFunc whose every call fails
// with a *[ConfigError].
type KeyFunc func(r *http.Request) (string, error)

// KeyStatic returns a KeyFunc for which all requests share one key. Nobody but
// the program controls it.
func KeyStatic(key string) KeyFunc {
	return func(*http.Request) (string, error) { return key, nil }
}

// KeyHeader returns a KeyFunc whose key is the value of a header as it stands:
// ErrNoKey when it is missing or empty, ErrAmbiguousKey when it is on several
// lines, ErrMalformedKey when it is over 1024 bytes long.
//
// On a server the client controls a header unless a trusted proxy sets it, and
// overwrites what the client sent, on every request. Never use it for a
// secret, which would be stored: that is what [KeyAPIKey] and [KeyBearer] are
// for.
func KeyHeader(name string) KeyFunc {
	h, err := newOneHeader("KeyHeader.name", name, longestHeaderKey)
	if err != nil {
		return keyError(err)
	}
	return h.value
}

// KeyContext returns a KeyFunc whose key is what from finds in the request's
// context, usually the user's ID that an authentication put there: ErrNoKey
// when it reports false or finds the empty string. It is as trustworthy as
// that authentication, which has to run first.
func KeyContext(from func(ctx context.Context) (string, bool)) KeyFunc {
	if from == nil {
		return keyError(&ConfigError{Field: "KeyContext.from", Want: "a function", Got: "nil"})
	}
	return func(r *http.Request) (string, error) {
		key, ok := from(r.Context())
		if !ok || key == "" {
			return "", errNoContextKey
		}
		return key, nil
	}
}

// KeyHost returns a KeyFunc whose key is where an outgoing request goes:
// scheme://host, with :port unless it is the scheme's default, in lower case,
// without a dot at the end of the host. It is what a [Transport] uses by default.
//
// For a request that a server received, which has set its RequestURI, it is the Host
// it was sent to, with the scheme by whether the connection is encrypted, whatever
// URL was sent. The client controls that: do not limit by it unless unknown hosts
// have been turned away before. A Transport asks it about a request without
// RequestURI, so that what a reverse proxy sends on goes by where it is sent.
func KeyHost() KeyFunc { return new(hostKey).of }

// hostKey remembers the key of the first host, which most often is the only one.
type hostKey struct{ first atomic.Pointer[hostOrigin] }

type hostOrigin struct{ scheme, host, key string }

func (k *hostKey) of(r *http.Request) (string, error) {
	if u := r.URL; u != nil && u.Scheme != "" && u.Host != "" && r.RequestURI == "" {
		first := k.first.Load()
		if first == nil {
			first = &hostOrigin{strings.Clone(u.Scheme), strings.Clone(u.Host), origin(u.Scheme, u.Host)}
			k.first.Store(first)
		}
		if first.scheme == u.Scheme && first.host == u.Host {
			return first.key, nil
		}
		return origin(u.Scheme, u.Host), nil
	}
	switch {
	case r.Host == "":
		return "", errNoHost
	case r.TLS != nil:
		return origin("https", r.Host), nil
	}
	return origin("http", r.Host), nil
}

func origin(scheme, host string) string {
	scheme, host = strings.ToLower(scheme), strings.ToLower(host)
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return scheme + "://" + withoutDot(strings.TrimSuffix(host, ":"))
}

// withoutDot returns a host, with a port or without, without the dot at the end
// of its name, which says only that it is a whole one.
func withoutDot(host string) string {
	if name, port, ok := strings.Cut(host, ".:"); ok && name != "" {
		return name + ":" + port
	}
	if name := strings.TrimSuffix(host, "."); name != "" {
		return name
	}
	return host
}

// KeyRoute returns a KeyFunc whose key is the route that a router matched:
// method, space, and the Pattern of the request, as "GET /items/{id}". It is
// ErrNoKey when there is no pattern, and never the path, of which a client can
// make up any number. So it works inside the mux, around the handlers, and not
// around the mux: for chi, which sets the whole Pattern since its v5.3.0, with
// Router.With, or with Use within a Group. Where a router runs its middleware for requests that match no
// route too, as gin does, all of those have one key with
//
//	weir.KeyFirst(weir.KeyRoute(), weir.KeyStatic("unmatched"))
//
// The client chooses among the routes. A pattern without a method counts each
// of HTTP's own methods by itself and all others together, as OTHER, because
// a client can make those up too.
func KeyRoute() KeyFunc { return routeKey }

func routeKey(r *http.Request) (string, error) {
	pattern := strings.TrimLeft(r.Pattern, " \t")
	if pattern == "" {
		return "", errNoRoute
	}
	// Only a method can be followed by white space before the path begins.
	if i := strings.IndexAny(pattern, " \t/"); i > 0 && pattern[i] != '/' {
		return pattern, nil
	}
	method := "OTHER"
	switch r.Method {
	case "":
		method = http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		method = r.Method
	}
	return method + " " + pattern, nil
}

// Made once, since a request without an identity may come often.
var (
	errNoContextKey = fmt.Errorf("%w: the context holds no identity", ErrNoKey)
	errNoHost       = fmt.Errorf("%w: the request has no host", ErrNoKey)
	errNoRoute      = fmt.Errorf("%w: no route matched", ErrNoKey)
)

// keyError returns the KeyFunc that always fails with err.
func keyError(err error) KeyFunc {
	return func(*http.Request) (string, error) { return "", err }
}

// longestHeaderKey is the longest value of a header that is a key as it
// stands, in bytes. Keys are kept; what has no bound fills a store's memory.
const longestHeaderKey = 1024

// oneHeader reads a header that has to be there exactly once.
type oneHeader struct {
	name                string // in canonical form
	longest             int    // bytes its value may have
	none, several, long error
}

func newOneHeader(field, name string, longest int) (*oneHeader, error) {
	name, err := headerName(field, name)
	if err != nil {
		return nil, err
	}
	return &oneHeader{
		name:    name,
		longest: longest,
		none:    fmt.Errorf("%w: the header %s is missing or empty", ErrNoKey, name),
		several: fmt.Errorf("%w: several %s headers", ErrAmbiguousKey, name),
		long:    fmt.Errorf("%w: the header %s is over %d bytes long", ErrMalformedKey, name, longest),
	}, nil
}

// headerName returns the name of a header in canonical form, or a *ConfigError
// for field.
func headerName(field, name string) (string, error) {
	name = http.CanonicalHeaderKey(name)
	if !httptoken.Is(name) {
		return "", &ConfigError{Field: field, Want: "a header's name", Got: strconv.QuoteToASCII(name)}
	}
	if name == "Host" {
		// net/http moves it to Request.Host, so that it would never be found.
		return "", &ConfigError{Field: field, Want: "a header other than Host, which is KeyHost's", Got: strconv.Quote(name)}
	}
	return name, nil
}

func (h *oneHeader) value(r *http.Request) (string, error) {
	lines := r.Header[h.name]
	if len(lines) > 1 {
		return "", h.several
	}
	if len(lines) == 1 {
		v := textproto.TrimString(lines[0])
		if len(v) > h.longest {
			return "", h.long
		}
		if v != "" {
			return v, nil
		}
	}
	return "", h.none
}
