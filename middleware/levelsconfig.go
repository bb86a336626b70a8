package middleware

import (
	"errors"
	"strconv"

	"github.com/goweir/weir"
)

// validateLevels reports the first field that is wrong of the wider levels.
func (cfg *Config) validateLevels() error {
	names := map[string]bool{cfg.Limiter.Name(): true}
	policies := map[string]bool{}
	note := func(l *weir.Limiter) (twice string, ok bool) {
		limits := l.Limits()
		for i := range limits {
			if name := limits[i].Policy(); policies[name] {
				return name, false
			}
		}
		for i := range limits {
			policies[limits[i].Policy()] = true
		}
		return "", true
	}
	if cfg.Limits == nil {
		note(cfg.Limiter)
	}
	for i := range cfg.Levels {
		l, at := &cfg.Levels[i], "Levels["+strconv.Itoa(i)+"]."
		switch {
		case l.Limiter == nil:
			return invalid(at+"Limiter", "a limiter", "nil")
		case l.Key == nil:
			return invalid(at+"Key", "a key function", "nil")
		case names[l.Limiter.Name()], cfg.Penalty.Limiter != nil && cfg.Penalty.Limiter.Name() == l.Limiter.Name():
			return invalid(at+"Limiter", "a limiter with a name of its own", strconv.Quote(l.Limiter.Name()))
		}
		if err := cfg.Limiter.DecidesWith(l.Limiter); err != nil {
			var ce *weir.ConfigError
			if errors.As(err, &ce) {
				return invalid(at+"Limiter", ce.Want, ce.Got)
			}
			return err
		}
		names[l.Limiter.Name()] = true
		if l.Limits != nil {
			continue
		}
		if name, ok := note(l.Limiter); !ok {
			return invalid(at+"Limiter", "limits with policy names that no other level has, see weir.Limit.Name", strconv.Quote(name))
		}
	}
	return nil
}

// limiters returns those of all levels.
func (cfg *Config) limiters() []*weir.Limiter {
	all := []*weir.Limiter{cfg.Limiter}
	for i := range cfg.Levels {
		all = append(all, cfg.Levels[i].Limiter)
	}
	return all
}
