package weir_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/netip"

	"github.com/goweir/weir"
)

// A load balancer in 10.0.0.0/8 appends the address of its peer. What the client
// wrote before that is not looked at.
func ExampleKeyClientIP() {
	key, err := weir.KeyClientIP(weir.ClientIP{
		Header:  "X-Forwarded-For",
		Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := httptest.NewRequest("GET", "/", nil)

	r.RemoteAddr = "10.0.0.3:4711"
	r.Header.Set("X-Forwarded-For", "192.0.2.1, 203.0.113.9")
	fmt.Println(key(r))

	// Nobody but the load balancer is believed.
	r.RemoteAddr = "198.51.100.4:4711"
	fmt.Println(key(r))
	// Output:
	// 203.0.113.9 <nil>
	// 198.51.100.4 <nil>
}

// Users are counted by their ID, and by address where nobody has logged in. The
// authentication runs first.
func ExampleKeyFirst() {
	type userKey struct{}
	key := weir.KeyFirst(
		weir.KeyContext(func(ctx context.Context) (string, bool) {
			id, ok := ctx.Value(userKey{}).(string)
			return id, ok
		}),
		weir.KeyRemoteIP(),
	)
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "203.0.113.9:4711"
	fmt.Println(key(r))
	fmt.Println(key(r.WithContext(context.WithValue(r.Context(), userKey{}, "u-1"))))
	// Output:
	// 1|203.0.113.9 <nil>
	// 0|u-1 <nil>
}
