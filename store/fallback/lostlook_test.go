package fallback_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/localstore"
)

// losesLooks loses the answers to calls that cost nothing.
type losesLooks struct{ *localstore.Store }

func (s losesLooks) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if req.Free() {
		<-ctx.Done()
		return store.Decision{}, ctx.Err()
	}
	return s.Store.Take(ctx, req)
}

// spent says that others have spent an upstream's budget.
type spent struct{}

func (spent) RoundTrip(req *http.Request) (*http.Response, error) {
	h := http.Header{"X-Ratelimit-Limit": {"100"}, "X-Ratelimit-Remaining": {"2"}, "X-Ratelimit-Reset": {"30"}}
	return &http.Response{StatusCode: http.StatusOK, Header: h, Request: req, Body: http.NoBody}, nil
}

// The answer to a Transport's look at a key is lost. The key is slowed down all the same.
func TestLostLookSlowsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var slowed atomic.Int64
		l, err := weir.New(weir.Config{
			Name: "provider", Store: open(t, fallback.Config{Primary: losesLooks{local}}),
			Limits: []weir.Limit{weir.PerMinute(100).By(weir.SlidingWindow)},
			Hook: func(_ context.Context, e weir.Event) {
				if e.Kind == weir.EventPaused || e.Kind == weir.EventSlowed {
					slowed.Add(1)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := weir.NewTransport(weir.TransportConfig{Limiter: l, Key: weir.KeyHost(), Base: spent{}})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: tr}).Get("http://provider.example/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		time.Sleep(time.Second)
		if slowed.Load() == 0 {
			t.Error("the key keeps its pace")
		}
	})
}
