package weir_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// TestTransportErrorsThroughClient looks at what the caller of an http.Client
// sees, which wraps errors in *url.Error and has a Timeout of its own.
func TestTransportErrorsThroughClient(t *testing.T) {
	t.Parallel()
	hang := transportFunc(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		_ = r.Body.Close()
		return nil, r.Context().Err()
	})
	for _, c := range []struct {
		name    string
		store   *transportStore
		cfg     weir.TransportConfig
		timeout time.Duration
		is      error
		bound   weir.Bound
		after   time.Duration
		taken   int
	}{
		{name: "timeout shorter than the wait", store: &transportStore{delay: time.Minute}, timeout: time.Second,
			is: weir.ErrLimited, bound: weir.BoundDeadline},
		{name: "MaxWait shorter than the wait", store: &transportStore{delay: time.Minute}, timeout: time.Hour,
			cfg: weir.TransportConfig{MaxWait: time.Second}, is: weir.ErrLimited, bound: weir.BoundMaxWait},
		{name: "refused at once", store: &transportStore{delay: time.Minute}, timeout: time.Hour,
			cfg: weir.TransportConfig{Refuse: true}, is: weir.ErrLimited, bound: weir.BoundNone},
		{name: "timeout in the base, after the wait", store: &transportStore{delay: time.Second}, timeout: 3 * time.Second,
			cfg: weir.TransportConfig{Base: hang}, is: context.DeadlineExceeded, after: 3 * time.Second, taken: 1},
		{name: "timeout in the store", store: &transportStore{block: true}, timeout: time.Second,
			is: context.DeadlineExceeded, after: time.Second},
		{name: "timeout in the store, refusing", store: &transportStore{block: true}, timeout: time.Second,
			cfg: weir.TransportConfig{Refuse: true}, is: context.DeadlineExceeded, after: time.Second},
		{name: "store down", store: &transportStore{err: errors.New("down")}, is: weir.ErrStore},
		{name: "store's own timeout", store: &transportStore{err: context.DeadlineExceeded}, is: weir.ErrStore},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if c.cfg.Base == nil {
					c.cfg.Base = transportUnused(t)
				}
				client := &http.Client{Transport: transportOver(t, c.store, c.cfg), Timeout: c.timeout}
				req, body := transportPost(t, t.Context(), "http://api.example/")
				start := time.Now()
				resp, err := client.Do(req)
				if resp != nil {
					t.Fatalf("response %v", resp)
				}
				for _, target := range []error{weir.ErrLimited, weir.ErrStore, context.Canceled, context.DeadlineExceeded} {
					if errors.Is(err, target) != (target == c.is) {
						t.Errorf("errors.Is(%v, %v) is %t", err, target, target != c.is)
					}
				}
				var le *weir.LimitedError
				if errors.As(err, &le) != (c.is == weir.ErrLimited) {
					t.Fatalf("error %v", err)
				}
				if le != nil && (le.RetryAfter != c.store.delay || le.Bound != c.bound || le.Key != "http://api.example" ||
					le.Scope != "out" || !strings.Contains(err.Error(), "client-side")) {
					t.Errorf("error %+v: %v", le, err)
				}
				if took := time.Since(start); took != c.after || len(c.store.granted) != c.taken || body.closed.Load() != 1 {
					t.Errorf("after %v, charged %v, body closed %d times", took, c.store.granted, body.closed.Load())
				}
			})
		})
	}
}

func TestTransportKeyErrorText(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]weir.KeyFunc{"missing": weir.KeyHeader("X-User"), "empty": weir.KeyStatic("")} {
		tr := transportOver(t, &transportStore{}, weir.TransportConfig{Base: transportUnused(t), Key: key})
		req, _ := transportPost(t, t.Context(), "http://api.example/")
		_, err := (&http.Client{Transport: tr}).Do(req)
		if !errors.Is(err, weir.ErrNoKey) || !strings.Contains(err.Error(), "weir: transport: key: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
