package script

import (
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/redisstate"
	"github.com/goweir/weir/store"
)

// Limits are the limits and costs of charges of one key, prepared for the scripts. They hold
// no key, and do not change. A limit of several charges stands once, with the largest cost.
type Limits struct {
	Rules   []exact.Rule
	Logged  bool // one is a sliding window: the key has a log
	costs   []int64
	needs   []int64
	specs   []string
	args    []any
	charges []charge
}

// charge is a charge as it was given, and the place of its limit.
type charge struct {
	cost, need int64
	rule       int
}

// LimitsOf prepares the limits of valid charges of one key.
func LimitsOf(charges []store.Charge) *Limits {
	l := &Limits{args: make([]any, 1, 1+13*len(charges))}
	for i := range charges {
		c := &charges[i]
		spec := redisstate.FormatLimit(&c.Limit)
		at := slices.Index(l.specs, spec)
		if at < 0 {
			at = len(l.specs)
			l.Rules, l.specs = append(l.Rules, exact.RuleOf(&c.Limit)), append(l.specs, spec)
			l.costs, l.needs = append(l.costs, 0), append(l.needs, 0)
		}
		l.costs[at], l.needs[at] = max(l.costs[at], c.Cost), max(l.needs[at], c.Need())
		l.charges = append(l.charges, charge{c.Cost, c.Need(), at})
	}
	l.args[0] = len(l.Rules)
	for i := range l.Rules {
		r, more := &l.Rules[i], l.needs[i]-l.costs[i]
		l.args = append(l.args, l.specs[i], l.costs[i], more)
		if r.Limit.Algorithm != store.GCRA {
			l.args = append(l.args, r.Max, r.Period)
			l.Logged = l.Logged || r.Limit.Algorithm == store.SlidingWindow
			continue
		}
		p := &r.Pace
		each := p.Span(min(l.costs[i], r.Max))
		l.args = append(l.args, p.Den, p.Full.Whole, p.Full.Rem, each.Whole, each.Rem)
		if need := p.Span(l.needs[i]); more != 0 {
			l.args = append(l.args, need.Whole, need.Rem)
		}
	}
	return l
}

// Are reports whether charges have these limits and costs.
func (l *Limits) Are(charges []store.Charge) bool {
	if len(charges) != len(l.charges) {
		return false
	}
	for i := range charges {
		if c, own := &charges[i], &l.charges[i]; c.Cost != own.cost || !l.Rules[own.rule].Is(&c.Limit) || c.Need() != own.need {
			return false
		}
	}
	return true
}

// Before returns the states before the last calls took their costs. It appends them to none.
func (l *Limits) Before(none, states []State, calls int64) []State {
	before := append(none, states...)
	for i := range before {
		l.Rules[i].Undo(&before[i].State, l.costs[i]*calls)
	}
	return before
}
