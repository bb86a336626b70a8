package middleware

import (
	"strconv"

	"github.com/goweir/weir"
)

// unfit says what a limiter is to be in place of one that can't decide requests,
// which have no end that it is told of, and what that is. It is empty for all
// others.
func unfit(l *weir.Limiter) (want, got string) {
	switch {
	case l == nil:
		return "a limiter", "nil"
	case len(l.Limits()) == 0:
		return "a limiter made by weir.New", "a zero one"
	case l.InFlight() > 0:
		return "a limiter without InFlight", "one of " + strconv.FormatInt(l.InFlight(), 10) + " in flight"
	}
	return "", ""
}
