package middleware

import (
	"cmp"
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
	return cmp.Or(cfg.Delay.validate(), cfg.Penalty.validate(cfg.Limiter), cfg.validateOthers())
}

func (d *Delay) validate() error {
	switch {
	case d.Max < 0:
		return invalid("Delay.Max", "0 or more", d.Max.String())
	case d.Max > 0 && d.MaxWaiting < 1:
		return invalid("Delay.MaxWaiting", "1 or more, with Delay.Max", strconv.Itoa(d.MaxWaiting))
	case d.Max == 0 && d.MaxWaiting != 0:
		return invalid("Delay.MaxWaiting", "0 without Delay.Max", strconv.Itoa(d.MaxWaiting))
	}
	return nil
}

func (p *Penalty) validate(limiter *weir.Limiter) error {
	_, pauses := limiter.Config().Store.(store.Braker)
	switch {
	case p.Limiter == nil && p.For != 0:
		return invalid("Penalty.For", "0 without Penalty.Limiter", p.For.String())
	case p.Limiter == nil:
	case !pauses:
		return invalid("Penalty.Limiter", "none, as the store of Limiter can't pause keys", "one")
	case p.For <= 0 || p.For > store.MaxPeriod/4:
		return invalid("Penalty.For", "above 0 and at most 12.5 years", p.For.String())
	}
	return nil
}

// validateOthers reports the first wrong limiter of the penalty, a level or the shadows.
func (cfg *Config) validateOthers() error {
	taken := map[string]bool{cfg.Limiter.Name(): true}
	check := func(field string, l *weir.Limiter) error {
		if err := checkLimiter(field, l); err != nil {
			return err
		}
		if taken[l.Name()] {
			return invalid(field, "a limiter with a name of its own", strconv.Quote(l.Name()))
		}
		taken[l.Name()] = true
		return nil
	}
	if l := cfg.Penalty.Limiter; l != nil {
		if err := check("Penalty.Limiter", l); err != nil {
			return err
		}
	}
	for i := range cfg.Levels {
		l, field := &cfg.Levels[i], "Levels["+strconv.Itoa(i)+"]."
		if err := check(field+"Limiter", l.Limiter); err != nil {
			return err
		}
		switch {
		case l.Key == nil:
			return invalid(field+"Key", "a key function", "nil")
		case !names.SameStore(cfg.Limiter.Config().Store, l.Limiter.Config().Store):
			return invalid(field+"Limiter", "a limiter over the store of Limiter, which can be compared", strconv.Quote(l.Limiter.Name()))
		}
	}
	for _, l := range cfg.Shadows {
		if err := check("Shadows", l); err != nil {
			return err
		}
	}
	return nil
}

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
