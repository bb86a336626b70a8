package middleware

import (
	"net/http"
	"slices"
)

// Lists are keys that no limit is asked about. Their functions get the key that
// Config.Key returned, which for an API key is the hash, or NoKey.Key. They must be
// quick, and are called from many goroutines at once. A map that never changes, or
// an atomic pointer to one, serves. Nil: no key is listed.
type Lists struct {
	// Allow reports whether a key passes unlimited, at no cost, without rate headers.
	Allow func(key string) bool
	// Block reports whether a key is refused with 403. It comes before Allow.
	Block func(key string) bool
}

// Keys returns a function for Lists that holds exactly these keys.
func Keys(keys ...string) func(key string) bool {
	set := make(map[string]bool, len(keys))
	for _, key := range keys {
		set[key] = true
	}
	return func(key string) bool { return set[key] }
}

// notOfPreflights are headers that no browser puts into a preflight: credentials,
// and methods that a handler may take for the request's.
var notOfPreflights = []string{
	"Authorization", "Cookie", "X-Http-Method-Override", "X-Method-Override", "X-Http-Method",
}

// preflight reports whether r is a browser's question about CORS, which comes before
// the request that is counted. Any client can send the same.
func preflight(r *http.Request) bool {
	once := func(name string) bool { return len(r.Header[name]) == 1 && r.Header[name][0] != "" }
	return r.Method == http.MethodOptions &&
		once("Origin") && once("Access-Control-Request-Method") &&
		r.ContentLength == 0 && len(r.TransferEncoding) == 0 &&
		!slices.ContainsFunc(notOfPreflights, func(name string) bool { return len(r.Header[name]) > 0 })
}
