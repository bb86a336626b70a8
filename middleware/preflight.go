package middleware

import (
	"net/http"
	"slices"
)

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
