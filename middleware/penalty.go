package middleware

import (
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// Penalty blocks a key for a while if it goes on asking although it is refused. The zero
// value is off.
//
// The process keeps nothing: the store counts refusals, and the block is a pause of
// the key, for everything that the same Limiter limits. Served requests cost nothing
// extra. A client reads of any pause of its key as of a block, also of one by hand. A
// client that can ask in the name of a key can cause its block: penalise keys that are
// verified. All requests that share a [NoKey].Key are blocked together.
//
// With Config.Levels a refusal counts if the key's own limits refuse for longest. A
// redisstore without scripts can't pause keys: nothing is blocked, and OnError gets
// an error each time.
type Penalty struct {
	// Limiter counts the refusals of a key. The refusal that uses it up blocks the
	// key: with weir.Per(20, time.Minute).By(weir.FixedWindow) the 20th within a
	// minute. Its name must differ from Config.Limiter's. Refusals of a blocked key do
	// not count. Nil: no penalty.
	Limiter *weir.Limiter
	// For is the length of the block: above 0, and at most a quarter of
	// store.MaxPeriod, 12.5 years.
	For time.Duration
}

func (p *Penalty) validate(limiter *weir.Limiter) error {
	if p.Limiter == nil {
		if p.For != 0 {
			return invalid("Penalty.For", "0 without Penalty.Limiter", p.For.String())
		}
		return nil
	}
	_, pauses := limiter.Config().Store.(store.Braker)
	switch {
	case !pauses:
		return invalid("Penalty.Limiter", "none, as the store of Limiter can't pause keys", "one")
	case p.For <= 0 || p.For > store.MaxPeriod/4:
		return invalid("Penalty.For", "above 0 and at most 12.5 years", p.For.String())
	}
	return nil
}
