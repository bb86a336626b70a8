package redisstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestForeignCreditChargesNothing: a foreign credit shows only when a booking reads all of
// it. Then the other key of the request and the leases stay unchanged, too.
func TestForeignCreditChargesNothing(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s, sleep := newStill(t, c, "")
	limit := store.Per(5, time.Hour)
	request := func(hold bool) store.Request {
		req := store.Request{Cancelable: true, MaxWait: time.Hour}
		for _, key := range []string{"sound", "foreign"} {
			req.Charges = append(req.Charges, store.Charge{Key: key, Limit: limit, Cost: 1})
		}
		if hold {
			req.Hold = store.Hold{Max: 5, ID: "lease", Lease: time.Minute}
		}
		return req
	}
	take(t, s, request(false))
	sleep(time.Second)
	take(t, s, request(false))
	state, value := stateOf(s, "foreign"), ""
	if value = c.Get(t.Context(), state).Val(); !strings.Contains(value, ",2.") {
		t.Fatalf("the state has no credit: %q", value)
	}
	c.Set(t.Context(), state, value[:strings.LastIndex(value, ",")]+",2.9.2000000.9000000000.0.x", time.Hour)
	for _, hold := range []bool{false, true} {
		before := snapshot(c, s, "sound") + snapshot(c, s, "foreign")
		if d, err := s.Take(t.Context(), request(hold)); !errors.Is(err, ErrState) {
			t.Errorf("hold %v: %+v, %v, want ErrState", hold, d, err)
		}
		if after := snapshot(c, s, "sound") + snapshot(c, s, "foreign"); after != before {
			t.Errorf("hold %v: the keys have changed: %s became %s", hold, before, after)
		}
		if n := c.Exists(t.Context(), heldOf(s, "sound")).Val(); n != 0 {
			t.Errorf("hold %v: the refused request has a lease", hold)
		}
	}
}
