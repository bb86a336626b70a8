package memory

import (
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/share"
)

// maxSpendings is the maximum number of spendings of a key. A further one replaces the
// oldest.
const maxSpendings = 4

// spend notes charges that were admitted here at an instant. shared are the same charges
// on this process's share, one of parts shares.
func (e *entry) spend(charges, shared []store.Charge, parts, at, now, outage int64) {
	m := e.extra()
	if m.debt == nil {
		m.debt = make([]exact.State, len(charges))
	}
	if from := m.parts; from > 0 && from != parts {
		for i := range m.debt {
			divide(&e.limits.rules[i], &m.debt[i].A, from, parts, now)
		}
		for _, p := range m.spendings {
			p.divide(from, parts, now)
		}
	}
	m.parts = parts
	for i := range charges {
		if cost := charges[i].Cost; cost > 0 {
			part := exact.RuleOf(&shared[i].Limit)
			bookAhead(&part, &m.debt[i], at, cost)
		}
	}
	p := e.last()
	if p == nil || p.outage != outage {
		if len(m.spendings) == maxSpendings {
			m.spendings = slices.Delete(m.spendings, 0, 1)
		}
		p = e.spending(shared, now, outage)
		m.spendings = append(m.spendings, p)
	}
	p.add(charges, shared, at, now)
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
			part := exact.RuleOf(&shared[i].Limit)
			p.known[i] = share.State(r, &part, *e.state(i), now).A
			p.used[i].A = p.known[i]
		}
	}
	return p
}
