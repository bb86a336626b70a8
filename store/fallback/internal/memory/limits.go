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
	all map[store.Limit][]*limits // by the first limit
	n   int
}

const maxKnown = 1024

func (k *known) of(charges []store.Charge) *limits {
	first := charges[0].Limit
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.all[first] {
		if l.are(charges) {
			return l
		}
	}
	if k.n++; k.all == nil || k.n > maxKnown {
		k.all, k.n = make(map[store.Limit][]*limits), 1
	}
	l := &limits{scope: charges[0].Scope}
	for i := range charges {
		l.rules = append(l.rules, exact.RuleOf(&charges[i].Limit))
		l.list = append(l.list, charges[i].Limit)
	}
	k.all[first] = append(k.all[first], l)
	return l
}
