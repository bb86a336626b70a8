package fallback

import (
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// spending has the units of a key that this process admitted in one outage, under the
// same limits. Outages stay apart, as a Reset forgets the units before it.
type spending struct {
	limits  *limits
	outage  int64
	used    []exact.State // of each limit; for a bucket the TAT of the share
	known   []int64       // for a bucket the share's TAT without these units
	ahead   int64         // the last slot granted here; 0: none
	at      int64         // the latest time of the last unit
	id      string        // "": never sent to the primary
	version int           // of used; it counts changes
}

const (
	// maxSpendings is the maximum number of spendings of a key. A further one replaces
	// the oldest.
	maxSpendings = 4
	// spentMargin is the maximum that this process's clock may be behind the primary's.
	spentMargin = 5000
)

// spend notes charges that were admitted here at an instant. shared are the same charges
// on this process's share, one of parts shares.
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

// last returns the last spending under the key's limits, or nil.
func (e *entry) last() *spending {
	for _, p := range slices.Backward(e.more.spendings) {
		if p.limits == e.limits {
			return p
		}
	}
	return nil
}

// spending returns a new one. A bucket starts from the primary's state, so a busy one is
// as full after the outage as before.
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

// divide changes the number of shares. A bucket of smaller shares takes longer to drain.
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

// fill adds a spending to a memory. A spending that the primary may not know keeps its
// ID, and may grow.
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
			// A unit takes parts times as long in the share as in the whole limit.
			spent := max(int64(u.At)-max(p.known[i], now), 0)
			u = store.Used{At: store.Instant(now + (spent+parts-1)/parts)}
		}
		m.Spent = append(m.Spent, u)
	}
}

// paid drops a spending that the primary knows, unless it has grown since version.
func (m *more) paid(p *spending, version int) {
	if i := slices.Index(m.spendings, p); i >= 0 && p.version == version {
		m.spendings = slices.Delete(m.spendings, i, i+1)
	}
}
