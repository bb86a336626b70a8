package middleware

import (
	"strconv"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/names"
	"github.com/goweir/weir/store"
)

// validate reports the first field that is wrong, as a *weir.ConfigError.
func (cfg *Config) validate() error {
	if err := checkLimiter("Limiter", cfg.Limiter); err != nil {
		return err
	}
	_, settles := cfg.Limiter.Config().Store.(store.Settler)
	switch {
	case cfg.Key == nil:
		return invalid("Key", "a key function", "nil")
	case cfg.OnStoreFailure > FailClosed:
		return invalid("OnStoreFailure", "FailOpen or FailClosed", strconv.Itoa(int(cfg.OnStoreFailure)))
	case cfg.Headers > HeadersNone:
		return invalid("Headers", "one of the five styles", strconv.Itoa(int(cfg.Headers)))
	case len(cfg.PartitionSecret) > 0 && cfg.Headers != HeadersDraft11:
		return invalid("PartitionSecret", "none without HeadersDraft11", "one")
	case len(cfg.PartitionSecret) > 0 && len(cfg.PartitionSecret) < 16:
		return invalid("PartitionSecret", "at least 16 bytes", strconv.Itoa(len(cfg.PartitionSecret)))
	case cfg.Settle != nil && !settles:
		return invalid("Settle", "none, as the store of Limiter can't settle", "a function")
	case strings.ContainsFunc(cfg.Challenge, func(c rune) bool { return c < ' ' || c > '~' }):
		return invalid("Challenge", "printable ASCII", strconv.QuoteToASCII(cfg.Challenge))
	}
	if err := cfg.Delay.validate(); err != nil {
		return err
	}
	if err := cfg.Penalty.validate(cfg.Limiter); err != nil {
		return err
	}
	if err := cfg.validateLevels(); err != nil {
		return err
	}
	return cfg.validateShadows()
}

// validateLevels reports the first field that is wrong in the wider levels.
func (cfg *Config) validateLevels() error {
	taken, policies := cfg.names(), map[string]bool{}
	if cfg.Limits == nil {
		addPolicies(policies, cfg.Limiter)
	}
	for i := range cfg.Levels {
		l, field := &cfg.Levels[i], "Levels["+strconv.Itoa(i)+"]."
		if err := checkLimiter(field+"Limiter", l.Limiter); err != nil {
			return err
		}
		switch name := l.Limiter.Name(); {
		case l.Key == nil:
			return invalid(field+"Key", "a key function", "nil")
		case taken[name]:
			return invalid(field+"Limiter", "a limiter with a name of its own", strconv.Quote(name))
		case !names.SameStore(cfg.Limiter.Config().Store, l.Limiter.Config().Store):
			return invalid(field+"Limiter", "a limiter over the store of Limiter, which can be compared", strconv.Quote(name))
		}
		taken[l.Limiter.Name()] = true
		if l.Limits != nil {
			continue
		}
		if twice := addPolicies(policies, l.Limiter); twice != "" {
			return invalid(field+"Limiter", "limits with policy names that no other level has, see weir.Limit.Name", strconv.Quote(twice))
		}
	}
	return nil
}

// addPolicies adds the policy names of a limiter's limits to set, and returns one that
// was in it already.
func addPolicies(set map[string]bool, l *weir.Limiter) (twice string) {
	limits := l.Config().Limits
	for i := range limits {
		name := limits[i].Policy()
		if set[name] && twice == "" {
			twice = name
		}
		set[name] = true
	}
	return twice
}

// validateShadows reports the first shadow that is wrong.
func (cfg *Config) validateShadows() error {
	taken := cfg.names()
	for i := range cfg.Levels {
		taken[cfg.Levels[i].Limiter.Name()] = true
	}
	for _, l := range cfg.Shadows {
		if err := checkLimiter("Shadows", l); err != nil {
			return err
		}
		if taken[l.Name()] {
			return invalid("Shadows", "limiters with names of their own", strconv.Quote(l.Name()))
		}
		taken[l.Name()] = true
	}
	return nil
}

// names returns the names of the limiters of the request's own key.
func (cfg *Config) names() map[string]bool {
	names := map[string]bool{cfg.Limiter.Name(): true}
	if cfg.Penalty.Limiter != nil {
		names[cfg.Penalty.Limiter.Name()] = true
	}
	return names
}
