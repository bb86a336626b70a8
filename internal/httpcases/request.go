package httpcases

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// request is a GET by a user unless it says otherwise.
type request struct {
	method string
	user   string
	header http.Header
	remote string
	ctx    func(context.Context) (context.Context, context.CancelFunc)
}

func cancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx, cancel
}

func shortly(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Second)
}

// leaving is a client that goes away without a deadline.
func leaving(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(time.Second, cancel)
	return ctx, cancel
}

var (
	ann       = request{user: "ann"}
	bob       = request{user: "bob"}
	nobody    = request{}
	annAndBob = request{header: http.Header{"X-User": {"ann", "bob"}}}
)

// answered is a request by ann that is answered with a status.
func answered(status string) request {
	return request{header: http.Header{"X-User": {"ann"}, "X-Status": {status}}}
}

func on(plan, user string) request {
	return request{header: http.Header{"X-User": {user}, "X-Plan": {plan}}}
}

func costing(cost string) request {
	return request{header: http.Header{"X-User": {"ann"}, "X-Cost": {cost}}}
}

func (q request) build(t *testing.T) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), cmp.Or(q.method, http.MethodGet), "/things/7?page=2", http.NoBody)
	if q.user != "" {
		r.Header.Set("X-User", q.user)
	}
	for name, values := range q.header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if q.remote != "" {
		r.RemoteAddr = q.remote
	}
	return r
}
