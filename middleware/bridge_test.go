package middleware_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// framework is the context of one.
type framework struct{ user string }

func TestBridge(t *testing.T) {
	t.Parallel()
	user := func(c *framework) (string, bool) { return c.user, c.user != "nobody" }
	for _, tt := range []struct {
		name    string
		from    func(*framework) (string, bool)
		carried *framework // nil: none
		key     string
		err     error
	}{
		{"a user", user, &framework{"ann"}, "ann", nil},
		{"an empty string", user, &framework{}, "", weir.ErrNoKey},
		{"false", user, &framework{"nobody"}, "", weir.ErrNoKey},
		{"another middleware", user, nil, "", weir.ErrConfig},
		{"no function", nil, &framework{"ann"}, "", weir.ErrConfig},
	} {
		var b middleware.Bridge[*framework]
		key := b.Key(tt.from)
		r := request(t.Context())
		if tt.carried != nil {
			r = b.Carry(r, tt.carried)
		}
		if got, err := key(r); got != tt.key || !errors.Is(err, tt.err) {
			t.Errorf("%s: %q, %v, want %q, %v", tt.name, got, err, tt.key, tt.err)
		}
	}
}

// TestUnusedBridge checks that requests carry nothing, at no cost, before there is a
// key function.
func TestUnusedBridge(t *testing.T) {
	var b middleware.Bridge[*framework]
	r, c := request(t.Context()), new(framework)
	var got *http.Request
	if n := testing.AllocsPerRun(100, func() { got = b.Carry(r, c) }); n > 0 || got != r {
		t.Errorf("%v allocations, the same request: %t", n, got == r)
	}
}
