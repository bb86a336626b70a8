package store_test

import (
	"testing"

	"github.com/goweir/weir/store"
)

func TestReasonString(t *testing.T) {
	t.Parallel()
	for r, want := range map[store.Reason]string{
		store.ReasonAllowed: "allowed", store.ReasonLimited: "limited", store.ReasonNeverFits: "never_fits",
		store.ReasonTooManyWaiters: "too_many_waiters", store.ReasonPaused: "paused", store.ReasonInFlight: "in_flight", 99: "unknown",
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
