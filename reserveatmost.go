package weir

import (
	"context"
	"strconv"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// ReserveAtMost is [Limiter.ReserveN] for a call that can do with less: it books as
// many units as are free now, from min to max, and [Reservation.Cost] returns their
// number. So a batch takes the rest of a budget, and a prompt's max_tokens are cut to
// it. It never waits. A min or max that can't be is a *[ConfigError].
//
// A refusal is a Decision, not an error, and comes without a Reservation: min units
// were not free. Every grant is one decision of the store, so concurrent calls never
// take units twice. ReserveAtMost asks the store once if max units are free, and else
// two to four times. The Hook observes each question.
func (l *Limiter) ReserveAtMost(ctx context.Context, key string, min, max int64) (*Reservation, Decision, error) {
	if min < 1 || max < min {
		return nil, Decision{}, &store.ConfigError{Field: "min", Want: "1 to max, " + strconv.FormatInt(max, 10), Got: strconv.FormatInt(min, 10)}
	}
	cost := max
	for i := range l.limits {
		if most := l.limits[i].Max(); most >= min && most < cost {
			cost = most
		}
	}
	for asked := 1; ; asked++ {
		r, d, _, err := l.book(ctx, line.ID{Key: key, Cost: cost}, l.limits, 0)
		if err != nil || r != nil || cost == min || d.Reason != store.ReasonLimited {
			return r, decisionOf(&d), err
		}
		cost--
		for i := range l.limits {
			if left := d.Charge(i).Remaining; left < cost {
				cost = left
			}
		}
		if cost < min || asked == 3 {
			cost = min // Others were faster. The last question is about the minimum.
		}
	}
}
