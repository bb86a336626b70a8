package memory

import (
	"slices"
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

func limitsOf(charges []store.Charge) *limits {
	l := &limits{scope: charges[0].Scope}
	for i := range charges {
		l.rules = append(l.rules, exact.RuleOf(&charges[i].Limit))
		l.list = append(l.list, charges[i].Limit)
	}
	return l
}

// index returns the place of a limit, or -1.
func (l *limits) index(of *store.Limit) int {
	return slices.IndexFunc(l.rules, func(r exact.Rule) bool { return r.Is(of) })
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
	all []*limits
}

const maxKnown = 64

func (k *known) of(charges []store.Charge) *limits {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := slices.IndexFunc(k.all, func(l *limits) bool { return l.are(charges) }); i >= 0 {
		return k.all[i]
	}
	if len(k.all) >= maxKnown {
		k.all = nil
	}
	l := limitsOf(charges)
	k.all = append(k.all, l)
	return l
}
