package store_test

import (
	"testing"

	"github.com/goweir/weir/store"
)

func TestReasonString(t *testing.T) {
	t.Parallel()
	for r, want := range map[store.Reason]string{
		store.Allowed: "allowed", store.Limited: "limited", store.NeverFits: "never_fits",
		store.TooManyWaiters: "too_many_waiters", store.Paused: "paused", store.InFlight: "in_flight", 99: "unknown",
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
