package fallback

import (
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// spending are units of a key that a process admitted in one outage, under the same limits.
// A Reset forgets those before it, so outages stay apart.
type spending struct {
	limits  *limits
	outage  int64
	used    []exact.State // of each limit; of a bucket the TAT of the share
	known   []int64       // of a bucket the TAT of the share before, as the primary knows it
	ahead   int64         // the last slot granted here; 0: none
	at      int64         // when the last unit was admitted
	id      string        // "": the primary was never told
	version int           // of used
}

const (
	// maxSpendings is the maximum number of spendings of a key. The oldest goes.
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
	e.divide(parts, now)
	p := e.last()
	if p == nil || p.outage != outage {
		if len(m.spendings) == maxSpendings {
			m.spendings = slices.Delete(m.spendings, 0, 1)
		}
		p = e.spending(shared, now, outage)
		m.spendings = append(m.spendings, p)
	}
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

// last returns the last spending under the limits of the key; nil: there is none.
func (e *entry) last() *spending {
	for _, p := range slices.Backward(e.more.spendings) {
		if p.limits == e.limits {
			return p
		}
	}
	return nil
}

// spending returns a new one. A bucket goes on from the state that the primary knows: a
// busy one is as full after the outage as before.
func (e *entry) spending(shared []store.Charge, now, outage int64) *spending {
	p := &spending{limits: e.limits, outage: outage, used: make([]exact.State, len(shared)), known: make([]int64, len(shared))}
	for i := range shared {
		if r := &e.limits.rules[i]; e.at > 0 && r.Limit.Algorithm == store.GCRA {
			share := exact.RuleOf(&shared[i].Limit)
			p.used[i].A = stateOfShare(r, &share, *e.state(i), now).A
			p.known[i] = p.used[i].A
		}
	}
	return p
}

// divide makes the share one of so many parts. A bucket of smaller shares takes longer to
// drain.
func (e *entry) divide(parts, now int64) {
	m := e.more
	if m.parts > 0 && m.parts != parts {
		divide := func(r *exact.Rule, tat *int64) {
			if r.Limit.Algorithm == store.GCRA && *tat > now {
				*tat = now + scaleUp(*tat-now, parts, m.parts)
			}
		}
		for i := range m.debt {
			divide(&e.limits.rules[i], &m.debt[i].A)
		}
		for _, p := range m.spendings {
			for i := range p.used {
				divide(&p.limits.rules[i], &p.used[i].A)
				divide(&p.limits.rules[i], &p.known[i])
			}
		}
	}
	m.parts = parts
}

// fill adds a spending to a memory. One that the primary may not know keeps its ID, and
// grows.
func (p *spending) fill(m *store.Memory, id func() string, parts, now int64) {
	if p.id == "" {
		p.id = id()
	}
	m.ID, m.Ahead, m.SpentAt = p.id, store.Instant(p.ahead), store.Instant(p.at)
	for i := range p.used {
		u := usedOf(&p.used[i])
		switch algorithm := p.limits.rules[i].Limit.Algorithm; {
		case algorithm == store.SlidingWindow:
			u.Before = 0
		case algorithm == store.GCRA:
			// The share drains as slowly as all shares together drain the limit.
			spent := max(int64(u.At)-max(p.known[i], now), 0)
			u = store.Used{At: store.Instant(now + (spent+parts-1)/parts)}
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
