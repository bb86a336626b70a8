package fallback

import (
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// spending is what a process admitted of a key in one outage. A Reset after it forgets it,
// so those of different outages stay apart.
type spending struct {
	outage  int64
	used    []exact.State // of each limit; of a bucket the TAT of the share
	ahead   int64         // the last slot granted here; 0: none
	at      int64         // when the last unit was admitted
	id      string        // "": the primary was never told
	version int           // of used
}

const (
	// maxSpendings is the most outages of a key that are kept apart.
	maxSpendings = 4
	// spentMargin is how far this process may be behind the primary's clock.
	spentMargin = 5000
)

// spend notes charges that were admitted here at an instant. shared are the same of this
// process's share, one of so many parts.
func (e *entry) spend(charges, shared []store.Charge, parts, at, now, outage int64) {
	m := e.extra()
	if m.debt == nil {
		m.debt = make([]exact.State, len(charges))
	}
	n := len(m.spendings)
	if n == 0 || m.spendings[n-1].outage != outage && n < maxSpendings {
		m.spendings = append(m.spendings, &spending{outage: outage, used: make([]exact.State, len(charges))})
	}
	e.divide(parts, now)
	p := m.spendings[len(m.spendings)-1]
	for i := range charges {
		if cost := charges[i].Cost; cost > 0 {
			share, whole := exact.RuleOf(&shared[i].Limit), &e.limits.rules[i]
			bookAhead(&share, &m.debt[i], at, cost)
			if whole.Limit.Algorithm == store.GCRA {
				whole = &share
			}
			book(whole, &p.used[i], at, cost)
			p.used[i].B = min(p.used[i].B, e.limits.rules[i].Max)
		}
	}
	p.version++
	p.at = now + spentMargin
	if at > now {
		p.ahead = max(p.ahead, at)
	}
}

// divide makes the share one of so many parts. A bucket of smaller shares takes longer to
// drain.
func (e *entry) divide(parts, now int64) {
	m := e.more
	if m.parts > 0 && m.parts != parts {
		for i := range e.limits.rules {
			if e.limits.rules[i].Limit.Algorithm != store.GCRA {
				continue
			}
			states := []*exact.State{&m.debt[i]}
			for _, p := range m.spendings {
				states = append(states, &p.used[i])
			}
			for _, s := range states {
				if s.A > now {
					s.A = now + scaleUp(s.A-now, parts, m.parts)
				}
			}
		}
	}
	m.parts = parts
}

// fill adds a spending to a memory. One that the primary may not know keeps its ID, and
// grows.
func (p *spending) fill(m *store.Memory, rules []exact.Rule, id func() string, parts, now int64) {
	if p.id == "" {
		p.id = id()
	}
	m.ID, m.Ahead, m.SpentAt = p.id, store.Instant(p.ahead), store.Instant(p.at)
	for i := range p.used {
		u := usedOf(&p.used[i])
		switch algorithm := rules[i].Limit.Algorithm; {
		case algorithm == store.SlidingWindow:
			u.Before = 0
		case algorithm == store.GCRA && int64(u.At) > now:
			// The share drains as slowly as all shares together drain the limit.
			u = store.Used{At: store.Instant(now + (int64(u.At)-now+parts-1)/parts)}
		}
		m.Spent = append(m.Spent, u)
	}
}

// paid notes that the primary knows a spending up to a version.
func (m *more) paid(p *spending, version int) {
	if i := slices.Index(m.spendings, p); i >= 0 && p.version == version {
		m.spendings = slices.Delete(m.spendings, i, i+1)
	}
}
