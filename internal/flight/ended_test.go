package flight_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/flight"
)

// TestEndedLeasesStay: the store counts leases of ended calls. A failover has lost their
// releases, or the store has carried out requests long after their callers left. The next
// calls have room all the same, whether they wait or not.
func TestEndedLeasesStay(t *testing.T) {
	t.Parallel()
	errDown := errors.New("down")
	for name, end := range map[string]func(t *testing.T, h *holder){
		"lost releases": func(t *testing.T, h *holder) {
			var leases [2]*flight.Lease
			for i := range leases {
				c := flight.Claim{Key: "k"}
				if _, _, err := h.Ask(t.Context(), &c, time.Time{}, nothing, h.try("", 0), nothing); err != nil {
					t.Fatal(err)
				}
				leases[i] = c.Lease
			}
			h.set(func() { h.loses = true })
			for _, l := range leases {
				l.Release()
			}
			synctest.Wait()
			h.set(func() { h.loses = false })
		},
		"late requests": func(t *testing.T, h *holder) {
			var late []string
			h.set(func() { h.fail = errDown })
			try := func(_ context.Context, id string, _ bool) (flight.Answer, bool, time.Duration) {
				late = append(late, id)
				return flight.Refused, true, 0
			}
			for range 2 {
				if _, _, err := h.Ask(t.Context(), &flight.Claim{Key: "k"}, time.Time{}, nothing, try, nothing); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(20 * time.Second) // Its leases last for one.
			h.set(func() {
				h.fail = nil
				for _, id := range late {
					h.held[id] = true
				}
			})
		},
	} {
		for _, refuse := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				h := newHolder(2, 2)
				end(t, h)
				if n := h.leases(); n != 2 {
					t.Fatalf("%s: the store has %d leases, want 2", name, n)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				c := flight.Claim{Key: "k", Refuse: refuse}
				for range 3 {
					if a, _, err := h.Ask(ctx, &c, time.Time{}, nothing, h.try("", 0), nothing); err != nil {
						t.Fatalf("%s: %v, %v", name, a, err)
					}
					if c.Lease.Held() {
						break
					}
					time.Sleep(time.Second)
				}
				if !c.Lease.Held() {
					t.Errorf("%s: no room, refuse %v", name, refuse)
				}
				c.Lease.Release()
				h.gone(t)
			})
		}
	}
}
