package httpcases

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// Caller makes a call by another protocol than HTTP, with a request's headers and remote
// address, "" for any.
type Caller func(ctx context.Context, header http.Header, remote string) CallAnswer

// CallAnswer is the outcome of a call.
type CallAnswer struct {
	Served bool
	Status int         // the HTTP status that a refusal comes to
	Header http.Header // the answer's headers
}

// RunCalls runs the cases that are not about HTTP itself, and returns their number. Each
// must have the same outcome as over HTTP. The server that mount starts must end with the
// test. It must answer with the status in X-Status and len("served") bytes.
func RunCalls(t *testing.T, mount func(t *testing.T, cfg middleware.Config) Caller) int {
	n := 0
	for _, cases := range table {
		for _, c := range cases {
			if slices.ContainsFunc(c.steps, func(s step) bool { return s.request.method != "" }) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg := c.build(t, func(testing.TB) weir.Store { return newStore() })
					if cfg.OnLimited != nil && !cfg.Shadow {
						return // which answers with HTTP
					}
					cfg.OnLimited = nil
					c.call(t, mount(t, cfg))
					n++
				})
			})
		}
	}
	return n
}

func (c testCase) call(t *testing.T, do Caller) {
	for i, s := range c.steps {
		time.Sleep(s.after)
		r := s.request.build(t)
		if s.request.ctx != nil {
			ctx, cancel := s.request.ctx(r.Context())
			defer cancel()
			r = r.WithContext(ctx)
		}
		start := time.Now()
		got := do(r.Context(), r.Header, s.request.remote)
		if took := time.Since(start); took != s.takes {
			t.Errorf("step %d: took %v, want %v", i, took, s.takes)
		}
		synctest.Wait() // A call that was left is over on the other side, too.
		if want := s.want.body == servedBody; got.Served != want {
			t.Errorf("step %d: served: %t, want %t", i, got.Served, want)
		}
		if !got.Served && got.Status != s.want.status {
			t.Errorf("step %d: status %d, want %d", i, got.Status, s.want.status)
		}
		for _, name := range watched {
			if name == "Cache-Control" || strings.HasPrefix(name, "Content-") {
				continue // which tell of an HTTP body
			}
			if told := strings.Join(got.Header.Values(name), " & "); told != s.want.header[name] {
				t.Errorf("step %d: %s: %q, want %q", i, name, told, s.want.header[name])
			}
		}
	}
}
