package weir_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

func TestTransportWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &transportStore{delay: 3 * time.Second}
		start := time.Now()
		var left time.Duration
		tr := transportOver(t, store, weir.TransportConfig{
			Base: transportFunc(func(r *http.Request) (*http.Response, error) {
				left = time.Since(start)
				return transportOK(r)
			}),
			Cost:    func(*http.Request) (int64, error) { return 7, nil },
			MaxWait: 3 * time.Second,
		})
		req, body := transportPost(t, t.Context(), "http://api.example/")
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if left != store.delay || body.closed.Load() != 1 {
			t.Errorf("left after %v, body closed %d times", left, body.closed.Load())
		}
		if g := store.granted; len(g) != 1 || g[0].Key != "http://api.example" || g[0].Cost != 7 || g[0].Scope != "out" {
			t.Errorf("charged %+v", g)
		}
		if store.maxWaits[0] != 3*time.Second {
			t.Errorf("asked for at most %v", store.maxWaits[0])
		}
	})
}

func TestTransportUsesLimitersMaxWait(t *testing.T) {
	t.Parallel()
	store := &transportStore{delay: time.Hour}
	l, err := weir.New(weir.Config{Store: store, Limits: []weir.Limit{weir.PerSecond(1)}, MaxWait: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ own, want time.Duration }{{0, 2 * time.Second}, {time.Minute, time.Minute}} {
		tr, err := weir.NewTransport(weir.TransportConfig{Limiter: l, Base: transportUnused(t), MaxWait: c.own})
		if err != nil {
			t.Fatal(err)
		}
		req, _ := transportPost(t, t.Context(), "http://api.example/")
		var le *weir.LimitedError
		if _, err := tr.RoundTrip(req); !errors.As(err, &le) || le.Bound != weir.BoundMaxWait {
			t.Errorf("error %v", err)
		}
		if got := store.maxWaits[len(store.maxWaits)-1]; got != c.want {
			t.Errorf("MaxWait %v: asked for at most %v", c.own, got)
		}
	}
}

func TestTransportCancelWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &transportStore{delay: time.Hour}
		client := &http.Client{Transport: transportOver(t, store, weir.TransportConfig{Base: transportUnused(t)})}
		ctx, cancel := context.WithCancel(t.Context())
		req, body := transportPost(t, ctx, "http://api.example/")
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := client.Do(req)
		if !errors.Is(err, context.Canceled) || errors.Is(err, weir.ErrLimited) || errors.Is(err, weir.ErrStore) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if time.Since(start) != time.Second || body.closed.Load() != 1 || store.cancels != 1 {
			t.Errorf("after %v, body closed %d times, %d slots given back", time.Since(start), body.closed.Load(), store.cancels)
		}
	})
}
