package weirgrpc_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

type userKey struct{}

func userOf(ctx context.Context) (string, bool) {
	user, ok := ctx.Value(userKey{}).(string)
	return user, ok
}

// keyOf returns the result of a key function for a call.
func keyOf(ctx context.Context, t *testing.T, key weir.KeyFunc) (got string, failed error) {
	t.Helper()
	s := mustServer(t, middleware.Config{
		Limiter: newLimiter(t, httpcases.Always{}, weir.PerHour(1)),
		Key: func(r *http.Request) (string, error) {
			got, failed = key(r)
			return got, failed
		},
	})
	_, _ = s.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: say}, func(context.Context, any) (any, error) { return nil, nil })
	return got, failed
}

// TestKeys checks that every key function returns the same key for a call and for an HTTP
// request with the same headers. So a caller of both has one key.
func TestKeys(t *testing.T) {
	t.Parallel()
	secret := []byte("secret")
	behind, err := weir.KeyClientIP(weir.ClientIP{Header: "X-Forwarded-For", Trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		key    weir.KeyFunc
		md     []string
		remote string
		want   string // "" where it is a hash
		err    error
	}{
		{name: "a value", key: weir.KeyHeader("x-user"), md: []string{"x-user", "ann"}, want: "ann"},
		{name: "no value", key: weir.KeyHeader("x-user"), err: weir.ErrNoKey},
		{name: "a value twice", key: weir.KeyHeader("x-user"), md: []string{"x-user", "ann", "x-user", "ann"}, err: weir.ErrMalformedKey},
		{name: "a long value", key: weir.KeyHeader("x-user"), md: []string{"x-user", string(make([]byte, 1025))}, err: weir.ErrMalformedKey},
		{name: "an API key", key: weir.KeyAPIKey("x-api-key", secret), md: []string{"x-api-key", "k1"}},
		{name: "two API keys", key: weir.KeyAPIKey("x-api-key", secret), md: []string{"x-api-key", "k1", "x-api-key", "k2"}, err: weir.ErrMalformedKey},
		{name: "a token", key: weir.KeyBearer(secret), md: []string{"authorization", "Bearer t1"}},
		{name: "another scheme", key: weir.KeyBearer(secret), md: []string{"authorization", "Basic t1"}, err: weir.ErrNoKey},
		{name: "no token of RFC 6750", key: weir.KeyBearer(secret), md: []string{"authorization", "Bearer a, b"}, err: weir.ErrMalformedKey},
		{name: "IPv4", key: weir.KeyRemoteIP(), remote: "198.51.100.7:5000", want: "198.51.100.7"},
		{name: "IPv6 by its prefix", key: weir.KeyRemoteIP(), remote: "[2001:db8:1:2:3::4]:5000", want: "2001:db8:1:2::/64"},
		{name: "IPv4 in IPv6", key: weir.KeyRemoteIP(), remote: "[::ffff:198.51.100.7]:5000", want: "198.51.100.7"},
		{
			name: "behind a proxy", key: behind, remote: "192.0.2.1:5000",
			md: []string{"x-forwarded-for", "203.0.113.9, 198.51.100.7", "x-forwarded-for", "192.0.2.2"}, want: "198.51.100.7",
		},
		{
			name: "not behind the proxy", key: behind, remote: "198.51.100.7:5000",
			md: []string{"x-forwarded-for", "203.0.113.9"}, want: "198.51.100.7",
		},
		{name: "the method", key: weir.KeyRoute(), want: "POST " + say},
		{name: "the host", key: weir.KeyHost(), md: []string{":authority", "api.example.com"}, want: "http://api.example.com"},
		{name: "the context", key: weir.KeyContext(userOf), want: "ann"},
		{name: "no IP address for want of a user", key: weir.KeyHeader("x-user"), remote: "198.51.100.7:5000", err: weir.ErrNoKey},
		{
			name: "joined", key: weir.KeyJoin(weir.KeyHeader("x-user"), weir.KeyRoute()), md: []string{"x-user", "a|b"},
			want: `a\|b|POST ` + say,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			md := metadata.Pairs(tt.md...)
			r := httptest.NewRequest(http.MethodPost, say, http.NoBody)
			r.Pattern, r.Host = say, ""
			for name, values := range md {
				if name == ":authority" {
					r.Host = values[0]
					continue
				}
				r.Header[http.CanonicalHeaderKey(name)] = values
			}
			ctx := context.WithValue(t.Context(), userKey{}, "ann")
			r = r.WithContext(ctx)
			if tt.remote != "" {
				r.RemoteAddr = tt.remote
				ctx = peer.NewContext(ctx, &peer.Peer{Addr: address(tt.remote)})
			}
			got, err := keyOf(metadata.NewIncomingContext(ctx, md), t, tt.key)
			over, httpErr := tt.key(r)
			if got != over || err == nil != (httpErr == nil) || err != nil && err.Error() != httpErr.Error() {
				t.Errorf("got %q, %v, over HTTP %q, %v", got, err, over, httpErr)
			}
			if !errors.Is(err, tt.err) || tt.want != "" && got != tt.want || err == nil && got == "" {
				t.Errorf("got %q, %v, want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// TestCertificate checks that the client's certificate is there to be a key.
func TestCertificate(t *testing.T) {
	t.Parallel()
	info := credentials.TLSInfo{State: tls.ConnectionState{ServerName: "api.example.com"}}
	ctx := peer.NewContext(t.Context(), &peer.Peer{AuthInfo: info})
	got, err := keyOf(ctx, t, func(r *http.Request) (string, error) {
		if r.TLS == nil || r.RemoteAddr != "" {
			return "", weir.ErrNoKey
		}
		return r.TLS.ServerName, nil
	})
	if got != "api.example.com" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
