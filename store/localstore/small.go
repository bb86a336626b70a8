package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// class is a limit, or several, in a scope, for all the small keys that have it.
type class struct {
	scope string
	exact.Rule
	more  []exact.Rule // of the further limits, in their order
	whole bool         // a unit of a GCRA limit takes whole microseconds
}

const (
	// mostClasses is the most classes that a shard keeps small keys of at once:
	// few, as they are searched through for each new key.
	mostClasses = 32
	// mostLimits is the most limits that a small key is under.
	mostLimits = 8
)

// isSmall reports whether the state of a limit can be that of a small key: that
// of a sliding window grows.
func isSmall(l *store.Limit) bool { return l.Algorithm != store.SlidingWindow }

// areSmall reports whether charges are of one key, whose states can be those of a
// small one.
func areSmall(charges []store.Charge) bool {
	if len(charges) > mostLimits || !oneKey(charges) {
		return false
	}
	for i := range charges {
		if !isSmall(&charges[i].Limit) {
			return false
		}
	}
	return true
}

// newClass returns the class of a limit and of those of further charges.
func newClass(scope string, l *store.Limit, more []store.Charge) *class {
	c := &class{scope: scope, Rule: exact.RuleOf(l)}
	c.whole = c.Pace.Den == 1
	for i := range more {
		c.more = append(c.more, exact.RuleOf(&more[i].Limit))
	}
	return c
}

// is reports whether a class is that of a limit and of those of further charges,
// whose scope is right.
func (c *class) is(l *store.Limit, more []store.Charge) bool {
	if len(more) != len(c.more) || !c.Is(l) {
		return false
	}
	for i := range more {
		if !c.more[i].Is(&more[i].Limit) {
			return false
		}
	}
	return true
}

// at returns the rule of the i-th limit.
func (c *class) at(i int) *exact.Rule {
	if i == 0 {
		return &c.Rule
	}
	return &c.more[i-1]
}

// twins reports whether two of the limits count the same. Then they have one state.
func (c *class) twins() bool {
	for i := range c.more {
		for j := range i + 1 {
			if c.at(j).Is(&c.more[i].Limit) {
				return true
			}
		}
	}
	return false
}

// large returns a small key, whose states are given, as an entry.
func (s *Store) large(k id, c *class, first *exact.State, further []exact.State) *entry {
	e := s.newEntry(k)
	e.key.Parts = append(e.key.Parts, exact.Part{Rule: c.Rule, State: *first})
	for i := range further {
		e.key.Parts = append(e.key.Parts, exact.Part{Rule: c.more[i], State: further[i]})
	}
	e.settle()
	return e
}
