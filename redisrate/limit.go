package redisrate

import (
	"fmt"
	"strconv"
	"time"

	"github.com/goweir/weir/store"
)

// Limit is a rule: Rate units per Period, and Burst units at once. All three are
// required and above 0; Period is in whole microseconds.
type Limit struct {
	Rate   int
	Burst  int
	Period time.Duration
}

// PerSecond returns the limit of rate units per second, with a burst of rate.
func PerSecond(rate int) Limit { return Limit{Rate: rate, Period: time.Second, Burst: rate} }

// PerMinute returns the limit of rate units per minute, with a burst of rate.
func PerMinute(rate int) Limit { return Limit{Rate: rate, Period: time.Minute, Burst: rate} }

// PerHour returns the limit of rate units per hour, with a burst of rate.
func PerHour(rate int) Limit { return Limit{Rate: rate, Period: time.Hour, Burst: rate} }

// String returns the limit as redis_rate does: "10 req/s (burst 10)".
func (l Limit) String() string {
	period, ok := map[time.Duration]string{time.Second: "s", time.Minute: "m", time.Hour: "h"}[l.Period]
	if !ok {
		period = l.Period.String()
	}
	return fmt.Sprintf("%d req/%s (burst %d)", l.Rate, period, l.Burst)
}

// IsZero reports whether no field is set.
func (l Limit) IsZero() bool { return l == Limit{} }

// rule returns the limit as a store takes it.
func (l Limit) rule() (store.Limit, error) {
	if l.Burst < 1 {
		return store.Limit{}, &store.ConfigError{Field: "Limit.Burst", Want: "1 to 2^50", Got: strconv.Itoa(l.Burst)}
	}
	rule := store.Limit{Rate: int64(l.Rate), Period: l.Period, Burst: int64(l.Burst)}
	return rule, rule.Validate()
}
