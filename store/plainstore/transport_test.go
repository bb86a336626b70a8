package plainstore

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/goweir/weir"
)

// spent says that others have spent an upstream's budget.
type spent struct{}

func (spent) RoundTrip(req *http.Request) (*http.Response, error) {
	h := http.Header{"X-Ratelimit-Limit": {"100"}, "X-Ratelimit-Remaining": {"2"}, "X-Ratelimit-Reset": {"30"}}
	return &http.Response{StatusCode: http.StatusOK, Header: h, Request: req, Body: http.NoBody}, nil
}

// TestTransport: the store can slow no key down. A Transport tries without an error.
func TestTransport(t *testing.T) {
	_, _, s := miniServer(t)
	failed := make(chan error, 10)
	l, err := weir.New(weir.Config{
		Name: "provider", Store: s, Limits: []weir.Limit{weir.PerMinute(100).By(weir.FixedWindow)},
		Hook: func(_ context.Context, e weir.Event) {
			if e.Err != nil {
				failed <- e.Err
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := weir.NewTransport(weir.TransportConfig{Limiter: l, Key: weir.KeyHost(), Refuse: true, Base: spent{}})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: tr}).Get("http://provider.example/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	select {
	case err := <-failed:
		t.Error(err)
	case <-time.After(50 * time.Millisecond):
	}
}
