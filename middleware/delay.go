package middleware

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/goweir/weir"
)

// Delay queues requests briefly instead of refusing them. Each books its slot in
// one call of the store and is served at that slot, in order across all processes.
// A client that leaves gives its slot back, except that over HTTP/1 a server does not
// notice while the request has an unread body. The zero value is off: requests are
// served now or refused.
//
// A waiting request does not hear of a later pause, except with Config.Levels.
// There it waits for its own limits first and then for each wider level, with one
// call of the store each (see weir.WaitLevels). If the store books nothing ahead,
// as a redisstore without scripts, every request is answered with 500.
type Delay struct {
	// Max bounds the wait. A request with a later slot is refused at once. Above 0,
	// and below the timeouts of the server and the clients.
	Max time.Duration
	// MaxWaiting bounds the requests of this middleware that wait at once, over all
	// keys. Further ones are served now or refused. A request counts from its start,
	// so also while the store is asked. Required with Max: each waiting request
	// keeps a connection and a goroutine.
	MaxWaiting int
}

func (d *Delay) validate() error {
	switch {
	case d.Max < 0:
		return invalid("Delay.Max", "0 or more", d.Max.String())
	case d.Max > 0 && d.MaxWaiting < 1:
		return invalid("Delay.MaxWaiting", "1 or more, with Delay.Max", strconv.Itoa(d.MaxWaiting))
	case d.Max == 0 && d.MaxWaiting != 0:
		return invalid("Delay.MaxWaiting", "0 without Delay.Max", strconv.Itoa(d.MaxWaiting))
	}
	return nil
}

// await waits for a slot, or gives it back when the context ends before.
func await(ctx context.Context, booked *weir.Reservation) error {
	timer := time.NewTimer(booked.Delay())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		// The Limiter's Hook gets the error.
		_ = booked.Cancel(ctx)
		return ctx.Err()
	}
}

// pass replaces the decision by that of the slot, for which the request has waited. A Hook
// may have kept the old decision.
func pass(d *weir.Decision) {
	d.ResetAfter = max(0, d.ResetAfter-d.Delay)
	d.Charges = slices.Clone(d.Charges)
	for i := range d.Charges {
		d.Charges[i].ResetAfter = max(0, d.Charges[i].ResetAfter-d.Delay)
	}
	d.Delay = 0
}
