package script

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/redisstate"
	"github.com/goweir/weir/store"
)

// Limits are the limits and costs of charges of one key, prepared for the scripts. They hold
// no key, and do not change.
type Limits struct {
	Rules  []exact.Rule
	Logged bool // one is a sliding window: the key has a log
	costs  []int64
	needs  []int64
	specs  []string
	args   []any
}

// LimitsOf prepares the limits of valid charges of one key.
func LimitsOf(charges []store.Charge) *Limits {
	l := &Limits{args: make([]any, 1, 1+13*len(charges))}
	l.args[0] = len(charges)
	for i := range charges {
		c := &charges[i]
		r := exact.RuleOf(&c.Limit)
		l.Rules, l.specs = append(l.Rules, r), append(l.specs, redisstate.FormatLimit(&c.Limit))
		l.costs, l.needs = append(l.costs, c.Cost), append(l.needs, c.Need())
		p, more := &r.Pace, c.Need()-c.Cost
		l.args = append(l.args, l.specs[i], c.Cost, more)
		if c.Limit.Algorithm != store.GCRA {
			l.args = append(l.args, r.Max, r.Period)
			l.Logged = l.Logged || c.Limit.Algorithm == store.SlidingWindow
			continue
		}
		each := p.Span(min(c.Cost, r.Max))
		l.args = append(l.args, p.Den, p.Full.Whole, p.Full.Rem, each.Whole, each.Rem)
		if more != 0 {
			need := p.Span(c.Need())
			l.args = append(l.args, need.Whole, need.Rem)
		}
	}
	return l
}

// Are reports whether charges have these limits and costs.
func (l *Limits) Are(charges []store.Charge) bool {
	if len(charges) != len(l.Rules) {
		return false
	}
	for i := range charges {
		if c := &charges[i]; c.Cost != l.costs[i] || !l.Rules[i].Is(&c.Limit) || c.Need() != l.needs[i] {
			return false
		}
	}
	return true
}

// Before returns the states before the last calls took their costs.
func (l *Limits) Before(states []State, calls int64) []State {
	before := append([]State(nil), states...)
	for i := range before {
		l.Rules[i].Undo(&before[i].State, l.costs[i]*calls)
	}
	return before
}
