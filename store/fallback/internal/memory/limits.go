package memory

import (
	"sync"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// limits are those of one key in one scope. Many keys share a value.
type limits struct {
	scope string
	rules []exact.Rule
	list  []store.Limit
}

func rulesOf(charges []store.Charge) (rules []exact.Rule, list []store.Limit) {
	for i := range charges {
		rules = append(rules, exact.RuleOf(&charges[i].Limit))
		list = append(list, charges[i].Limit)
	}
	return rules, list
}

// are reports whether charges have these limits, in this order.
func (l *limits) are(charges []store.Charge) bool {
	if len(charges) != len(l.rules) || charges[0].Scope != l.scope {
		return false
	}
	for i := range charges {
		if !l.rules[i].Is(&charges[i].Limit) {
			return false
		}
	}
	return true
}

// known keeps the limits of calls, so that keys share them. It forgets all at maxKnown:
// sharing does not pay where each customer has limits of its own.
type known struct {
	mu  sync.Mutex
	all map[plan]*limits
}

// plan is a scope with its first and last limit. A further one with the same is not shared.
type plan struct {
	scope       string
	first, last store.Limit
}

const maxKnown = 1024

func (k *known) of(charges []store.Charge) *limits {
	p := plan{charges[0].Scope, charges[0].Limit, charges[len(charges)-1].Limit}
	k.mu.Lock()
	defer k.mu.Unlock()
	if l := k.all[p]; l != nil && l.are(charges) {
		return l
	}
	if k.all == nil || len(k.all) >= maxKnown {
		k.all = make(map[plan]*limits)
	}
	l := &limits{scope: p.scope}
	l.rules, l.list = rulesOf(charges)
	k.all[p] = l
	return l
}
