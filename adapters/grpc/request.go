package weirgrpc

import (
	"context"
	"net/http"
	"net/url"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// newRequest returns a call as an HTTP request. routed: the server has the method. A
// client can send any other.
func newRequest(ctx context.Context, method string, routed bool) *http.Request {
	r := new(http.Request).WithContext(ctx)
	r.Method, r.Proto, r.ProtoMajor = http.MethodPost, "HTTP/2.0", 2
	r.URL, r.RequestURI = &url.URL{Path: method}, method
	r.Body, r.ContentLength = http.NoBody, -1
	if routed {
		r.Pattern = method
	}
	if p, ok := peer.FromContext(ctx); ok {
		if p.Addr != nil {
			r.RemoteAddr = p.Addr.String()
		}
		if tls, ok := p.AuthInfo.(credentials.TLSInfo); ok {
			r.TLS = &tls.State
		}
	}
	md, _ := metadata.FromIncomingContext(ctx)
	r.Header = make(http.Header, len(md))
	for name, values := range md {
		switch {
		case name == ":authority" && len(values) > 0:
			r.Host = values[0]
		case name == "" || name[0] == ':':
		default:
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	return r
}

// messageKey is the key of the message in a context.
type messageKey struct{}

func withMessage(ctx context.Context, message any) context.Context {
	return context.WithValue(ctx, messageKey{}, message)
}

// Message returns the message of a call, for a Config.Cost that depends on it, such as
// on the number of wanted items. It is the request of a unary call, or the message that
// StreamMessages charges. It is nil when a stream is opened, as no message has come yet.
// It must not be changed.
func Message(r *http.Request) any { return r.Context().Value(messageKey{}) }
