package redisstore

import (
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// call is a request for units of one key, now or not at all, and its answer.
type call struct {
	limits     *script.Limits
	cancelable bool
	seen       int64   // see script.Key
	answer     *answer // nil before the round trip
	place      int64   // among the calls decided together
	err        error
}

// answer is the script's answer to calls of one key under the same limits, which the script
// decides in order. It does not change.
type answer struct {
	script.Answer
	now         int64
	seen        int64           // the earliest of the calls, see script.Key
	sent, heard time.Duration   // by the clock of the store
	receipt     *script.Receipt // of the admitted calls, without their places; nil: none was asked for
	states      [1]script.State
}

// lost reports whether the call's state was lost for sure: no other call saw it earlier.
func (c *call) lost() bool { return c.answer.Lost() && c.seen > 0 && c.seen <= c.answer.seen }

// decision returns the caller's decision.
func (c *call) decision(req *store.Request, now int64) store.Decision {
	var room [4]exact.Outcome
	outcomes := append(room[:0], make([]exact.Outcome, len(req.Charges))...)
	v := exact.Verdict{Allowed: c.place < c.answer.Calls, Now: now, Slot: now}
	a, states := &c.answer.Answer, c.answer.States
	var before [4]script.State
	if later := a.Calls - c.place - 1; v.Allowed && later > 0 {
		states = c.limits.Before(before[:0], states, later)
	}
	seen := a.View(c.limits, states, nil, outcomes, 0, now)
	switch {
	case !v.Allowed:
		v.Slot = a.Real
	case a.Clock != nil:
		seen.Slot = a.Clock.Now(now) // The answer has the slot of the first refused call.
	default:
		seen.Slot = now
	}
	v.Keys = []exact.Seen{seen}
	return exact.Decide(req, &v, outcomes)
}
