package localstore

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// class is a limit, or several, in a scope, for all the small keys that have it.
type class struct {
	scope string
	rule
	more []rule // of the further limits, in their order
}

const (
	// mostClasses is the most classes that a shard keeps small keys of at once:
	// few, as they are searched through for each new key.
	mostClasses = 32
	// mostLimits is the most limits that a small key is under.
	mostLimits = 8
)

// newClass returns the class of a limit and of those of further charges.
func newClass(scope string, l *store.Limit, more []store.Charge) *class {
	c := &class{scope: scope, rule: newRule(l)}
	for i := range more {
		c.more = append(c.more, newRule(&more[i].Limit))
	}
	return c
}

// is reports whether a class is that of a limit and of those of further charges,
// whose scope is right.
func (c *class) is(l *store.Limit, more []store.Charge) bool {
	if len(more) != len(c.more) || !c.counts(l) {
		return false
	}
	for i := range more {
		if !c.more[i].counts(&more[i].Limit) {
			return false
		}
	}
	return true
}

// at returns the rule of the i-th limit.
func (c *class) at(i int) *rule {
	if i == 0 {
		return &c.rule
	}
	return &c.more[i-1]
}

// entry returns a small key, whose states are given, as an entry, which it is not
// any more.
func (c *class) entry(k id, first *exact.State, further []exact.State) *entry {
	e := &entry{id: k}
	e.states = append(e.one[:0], state{c.limit, c.counting(first)})
	for i := range further {
		r := &c.more[i]
		e.states = append(e.states, state{r.limit, r.counting(&further[i])})
	}
	e.settle()
	return e
}
