package inspect

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/redisstate"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// errTorn is the error of a state and a log that do not belong together.
var errTorn = errors.New("the state changed while it was read")

// decode fills in a key from its values in Redis. The error is the key's Err.
func (k *Key) decode(s *stored) error {
	k.TTL, k.NoTTL = Span(max(s.ttl.Val(), 0)), s.ttl.Err() == nil && s.ttl.Val() == lasting
	held := k.flights(s)
	value, err := s.value.Result()
	if err != nil {
		return stateError(err)
	}
	// GETRANGE answers with nothing where there is no key.
	if value == "" && s.ttl.Val() == gone {
		k.Missing, k.Next = true, Next{Allowed: true, Limit: -1}
		return held
	}
	state, err := redisstate.Parse(value)
	switch {
	case err != nil && value == "":
		return fmt.Errorf("%w: %w", stateError(err), errTorn)
	case err != nil:
		return stateError(err)
	}
	if state.Logged {
		entries, err := s.log.Result()
		if err != nil {
			return stateError(err)
		}
		all, err := state.ReadLog(entries)
		if err != nil {
			return fmt.Errorf("%w: %w", stateError(err), errTorn)
		}
		k.Partial = !all
	}
	if err := k.evaluate(state); err != nil {
		return err
	}
	return held
}

// stateError gives an unreadable value the error that decisions return for it.
func stateError(err error) error {
	switch _, answered := errors.AsType[redis.Error](err); {
	case errors.Is(err, redisstate.ErrVersion):
		return fmt.Errorf("%w (%w)", redisstore.ErrVersion, err)
	case errors.Is(err, redisstate.ErrValue), redis.HasErrorPrefix(err, "WRONGTYPE"):
		return fmt.Errorf("%w (%w)", redisstore.ErrState, err)
	case answered:
		return fmt.Errorf("inspect: %w", err)
	}
	return err
}

// flights counts the leases that have not ended.
func (k *Key) flights(s *stored) error {
	k.InFlight = s.leases.Val()
	now := k.At.UnixMicro()
	for _, lease := range s.flights.Val() {
		if left := int64(min(max(lease.Score, 0), 1<<53)) - now; left <= 0 {
			k.InFlight--
		} else if k.LeaseEnds == 0 {
			k.LeaseEnds = micros(left)
		}
	}
	k.InFlight = max(k.InFlight, 0) // Leases may come between the two commands.
	return stateError(s.leases.Err())
}

// evaluate reads the state at the instant of the read, by package exact.
func (k *Key) evaluate(s *redisstate.State) (err error) {
	defer func() {
		// Numbers within their bounds may still have a quotient beyond 64 bits. The scripts
		// refuse such a state too.
		if r := recover(); r != nil {
			k.Limits, err = nil, fmt.Errorf("%w (%v)", redisstore.ErrState, r)
		}
	}()
	k.Reset, k.Restored = s.Reset, s.Restored
	now := k.At.UnixMicro()
	if s.At > now {
		// A decision starts from the state's time.
		k.Behind, now = micros(s.At-now), s.At
	}
	k.setBrake(&s.Clock, now)
	first, last, calls := s.Ahead(now)
	if calls != 0 {
		k.Ahead = Ahead{Calls: calls, First: micros(first - now), Last: micros(last - now)}
	}
	var charges []store.Charge
	for i := range s.Parts {
		if p := &s.Parts[i]; p.Left == 0 || p.Left > now {
			c := store.Charge{Limit: p.Rule.Limit, Cost: 1}
			if p.Left > 0 {
				c.Cost = 0
			}
			charges = append(charges, c)
		}
	}
	var found exact.Found
	s.Open(&found, charges, now)
	s.Find(&found, charges, now)
	for i := range charges {
		p := &s.Parts[found.Parts[i]]
		at, windows := found.V, exact.InRealTime(p.Rule.Limit.Algorithm)
		if windows {
			at = now
		}
		own, _ := p.Rule.View(&p.State, &s.Log, at)
		if windows && p.State.A > now {
			own = 0 // The state counts a window ahead. Calls wait for it, as none is free before.
		}
		l := Limit{Limit: p.Rule.Limit, Used: p.Rule.Max - own}
		remaining, reset := s.View(&found, i, now)
		l.Remaining, l.ResetAfter = remaining, micros(reset)
		if p.Left > 0 {
			l.LeftFor = micros(p.Left - now)
		}
		k.Limits = append(k.Limits, l)
	}
	k.setNext(s, &found, now)
	return nil
}

func (k *Key) setBrake(c *exact.Clock, now int64) {
	k.Brake.Rate = 64
	if c.IsZero() {
		return
	}
	if c.Paused(now) {
		k.Brake.Pause = micros(c.Until - now)
	}
	if n, d, _ := c.Speed(now); n != d {
		rate, _ := exact.MulDiv(64, n, d)
		slow := *c
		slow.Until = 0
		k.Brake.Rate, k.Brake.For = rate, micros(slow.Lapse()-now)
	}
}

// setNext finds the slot of a call of cost 1.
func (k *Key) setNext(s *redisstate.State, f *exact.Found, now int64) {
	k.Next = Next{Allowed: f.Real <= now, Limit: -1}
	if k.Next.Allowed {
		return
	}
	k.Next.RetryAfter = micros(f.Real - now)
	latest := now
	for i, at := range f.Each {
		if at > latest {
			latest, k.Next.Limit = at, i
		}
	}
	switch {
	case s.Clock.Paused(now):
		k.Next.Reason = "paused"
	case k.Ahead.Calls != 0:
		k.Next.Reason = "waiting"
	default:
		k.Next.Reason = "limited"
	}
}

// micros returns a Span of n µs, or the longest one: a forged state may be ahead of any.
func micros(n int64) Span {
	return Span(min(n, math.MaxInt64/int64(time.Microsecond))) * Span(time.Microsecond)
}
