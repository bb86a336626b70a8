package middleware

import (
	"context"
	"time"

	"github.com/goweir/weir"
)

// Penalty blocks a key for a while that goes on asking although it is refused.
// The zero value is off.
//
// Nothing is kept in the process: refusals are counted in the store, and the
// block is a pause of the key, which costs requests that are served nothing. It
// holds for whatever else is limited by the same Limiter, too. Whoever can ask in
// the name of a key can have it blocked: penalise keys that are verified. Under
// [NoKey].Key all without an identity are one key.
//
// With Config.Levels a refusal counts when the key's own limits are those that
// refuse for maxPause, and no other. A redisstore without scripts can't pause keys:
// nothing is blocked, and OnError is told at each refusal that should be.
type Penalty struct {
	// Limiter counts the refusals of a key; the one that uses it up blocks the
	// key. With weir.Per(20, time.Minute).By(weir.FixedWindow) that is the 20th
	// within a minute. Its name must differ from Config.Limiter's. What is
	// refused while the key is blocked does not count. Nil: no penalty.
	Limiter *weir.Limiter
	// For is how long the key is blocked: above 0, and at most the MaxPause of
	// Config.Limiter, which is 15 minutes unless it says otherwise.
	For time.Duration
}

func (p *Penalty) validate(limiter *weir.Limiter) error {
	if p.Limiter == nil {
		if p.For != 0 {
			return invalid("Penalty.For", "0 without Penalty.Limiter", p.For.String())
		}
		return nil
	}
	if err := checkLimiter("Penalty.Limiter", p.Limiter); err != nil {
		return err
	}
	maxPause := limiter.MaxPause()
	switch {
	case p.Limiter.Name() == limiter.Name():
		return invalid("Penalty.Limiter", "a limiter with another name than Limiter's", p.Limiter.Name())
	case maxPause == 0:
		return invalid("Penalty.Limiter", "none, as the store of Limiter can't pause keys", "one")
	case p.For <= 0 || p.For > maxPause:
		return invalid("Penalty.For", "above 0 and at most "+maxPause.String()+", the MaxPause of Limiter", p.For.String())
	}
	return nil
}

// punish counts a refusal by limiter and reports whether the key is blocked for
// it. An error says why it is not.
func (p *Penalty) punish(ctx context.Context, limiter *weir.Limiter, key string) (bool, error) {
	d, err := p.Limiter.Allow(ctx, key)
	if err != nil || d.Allowed && d.Remaining > 0 {
		return false, err
	}
	err = limiter.Pause(ctx, key, p.For)
	return err == nil, err
}
