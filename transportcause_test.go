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

// TestRoundTripKeepsTheCause of the context's end, as net/http does.
func TestRoundTripKeepsTheCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("the user has left")
	cancelled := func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(parent)
		if after == 0 {
			cancel(cause)
			return ctx, func() {}
		}
		timer := time.AfterFunc(after, func() { cancel(cause) })
		return ctx, func() { timer.Stop(); cancel(nil) }
	}
	overdue := func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(parent, after, cause)
	}
	plain := func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeout(parent, after)
	}
	for name, c := range map[string]struct {
		with  func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc)
		after time.Duration
		store *transportStore
		is    []error
		not   error
	}{
		"cancelled before":          {cancelled, 0, &transportStore{}, []error{context.Canceled, cause}, context.DeadlineExceeded},
		"cancelled in the wait":     {cancelled, time.Second, &transportStore{delay: time.Hour}, []error{context.Canceled, cause}, context.DeadlineExceeded},
		"cancelled in the store":    {cancelled, time.Second, &transportStore{block: true}, []error{context.Canceled, cause}, context.DeadlineExceeded},
		"overdue in the store":      {overdue, time.Second, &transportStore{block: true}, []error{context.DeadlineExceeded, cause}, context.Canceled},
		"overdue, no cause":         {plain, time.Second, &transportStore{block: true}, []error{context.DeadlineExceeded}, cause},
		"a slot past the deadline":  {overdue, time.Second, &transportStore{delay: time.Hour}, []error{weir.ErrLimited}, cause},
		"the store fails by itself": {cancelled, time.Hour, &transportStore{err: errors.New("down")}, []error{weir.ErrStore}, cause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, refuse := range []bool{false, true} {
					if refuse && c.store.delay > 0 {
						continue
					}
					ctx, cancel := c.with(t.Context(), c.after)
					defer cancel()
					client := &http.Client{Transport: transportOver(t, c.store, weir.TransportConfig{Base: transportUnused(t), Refuse: refuse})}
					_, err := client.Do(getRequest(t, ctx))
					for _, is := range c.is {
						if !errors.Is(err, is) {
							t.Errorf("%v is not %v", err, is)
						}
					}
					if err == nil || errors.Is(err, c.not) {
						t.Errorf("%v is %v", err, c.not)
					}
				}
				synctest.Wait()
			})
		})
	}
}
