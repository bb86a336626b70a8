package weir

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

var (
	errNoHost  = fmt.Errorf("%w: the request has no host", ErrNoKey)
	errNoRoute = fmt.Errorf("%w: no route matched", ErrNoKey)
)

// KeyHost returns a KeyFunc whose key is the origin that an outgoing request goes
// to: scheme://host, with :port unless it is the scheme's default, in lower case,
// without a dot at the end of the host. Without a host its error is ErrNoKey.
//
// A request that a server received has its RequestURI set. Its key is its Host, for any
// URL in the request line. The scheme is https if the connection is encrypted. The client
// controls that key: turn unknown hosts away before such a limit. A Transport asks for the
// key of a request without RequestURI, so a reverse proxy's request counts by its new
// origin.
func KeyHost() KeyFunc { return new(hostKey).of }

// hostKey remembers the key of the first origin, which usually is the only one.
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

// withoutDot returns a host, with or without a port, without the dot at the end of
// its name. The dot only marks the name as fully qualified.
func withoutDot(host string) string {
	if name, port, ok := strings.Cut(host, ".:"); ok && name != "" {
		return name + ":" + port
	}
	if name := strings.TrimSuffix(host, "."); name != "" {
		return name
	}
	return host
}

// KeyRoute returns a KeyFunc whose key is the route that a router matched: method,
// space, and the Pattern of the request, as "GET /items/{id}". Without a pattern
// its error is ErrNoKey. The key is never the path, because a client can invent any
// number of paths.
//
// So KeyRoute works inside the mux, around the handlers, and not around the mux. In
// chi, which sets the whole Pattern since its v5.3.0, use Router.With, or Use
// within a Group. Some routers, as gin, run their middleware for unmatched requests
// too; all of those have one key with
//
//	weir.KeyFirst(weir.KeyRoute(), weir.KeyStatic("unmatched"))
//
// The client chooses among the routes. A pattern without a method counts each of
// HTTP's own methods by itself. All other methods count together, as OTHER, because
// a client can invent those too.
func KeyRoute() KeyFunc {
	return func(r *http.Request) (string, error) {
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
}
