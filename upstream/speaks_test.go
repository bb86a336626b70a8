package upstream_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/goweir/weir/upstream"
)

func TestSpeaks(t *testing.T) {
	t.Parallel()
	reader := &upstream.Reader{Dialects: map[string]upstream.Dialect{"named.example": upstream.Common{}, "*.own.example": fixed(nil)}}
	for name, c := range map[string]struct {
		status int
		host   string
		header string
		want   bool
	}{
		"a page":                       {200, "example.com", "Content-Type", false},
		"an error":                     {503, "example.com", "Content-Type", false},
		"a refusal":                    {429, "example.com", "Content-Type", true},
		"a budget":                     {200, "example.com", "X-Ratelimit-Remaining", true},
		"a wait":                       {503, "example.com", "Retry-After", true},
		"a quota":                      {200, "example.com", "X-Quota-Remaining", true},
		"the name of an error":         {403, "example.com", "X-Mashery-Error-Code", true},
		"that name on a success":       {200, "example.com", "X-Mashery-Error-Code", false},
		"a host that is said to be so": {200, "named.example", "Content-Type", false},
		"a dialect of its own":         {200, "api.own.example", "X-Used", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := &http.Response{
				StatusCode: c.status, Header: http.Header{c.header: {"7"}},
				Request: &http.Request{URL: &url.URL{Host: c.host}},
			}
			if got := reader.Speaks(resp); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
	if bodies := (&upstream.Reader{Bodies: true}); !bodies.Speaks(&http.Response{StatusCode: 403}) || bodies.Speaks(&http.Response{StatusCode: 404}) {
		t.Error("of a 403 and a 404 the first may speak, by its body")
	}
	if reader.Speaks(nil) {
		t.Error("no response speaks")
	}
	var none *upstream.Reader
	if !none.Speaks(&http.Response{StatusCode: 429}) {
		t.Error("a refusal without a Reader does not speak")
	}
}
