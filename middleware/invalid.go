package middleware

import (
	"strconv"

	"github.com/goweir/weir"
)

// invalid returns the error that names a field of the Config.
func invalid(field, want, got string) error {
	return &weir.ConfigError{Field: "middleware.Config." + field, Want: want, Got: got}
}

// checkLimiter reports a limiter that can't decide about requests. Those with
// InFlight can't, as nothing here says when a request has ended.
func checkLimiter(field string, l *weir.Limiter) error {
	if l == nil {
		return invalid(field, "a limiter", "nil")
	}
	switch cfg := l.Config(); {
	case cfg.Store == nil:
		return invalid(field, "a limiter made by weir.New", "a zero one")
	case cfg.InFlight > 0:
		return invalid(field, "a limiter without InFlight", "one of "+strconv.FormatInt(cfg.InFlight, 10)+" in flight")
	}
	return nil
}
