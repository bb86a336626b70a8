package memory

import (
	"slices"
	"sync"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/share"
)

// spending has the units of a key that this process admitted in one outage, under the
// same limits. Outages stay apart, as a Reset forgets the units before it.
type spending struct {
	limits  *limits
	outage  int64
	used    []exact.State // of each limit; for a bucket the TAT of the share
	known   []exact.State // for a bucket the share's state without these units
	ahead   int64         // the last slot granted here; 0: none
	at      int64         // the latest time of the last unit
	id      string        // "": never sent to the primary
	version int           // of used; it counts changes
}

// margin is the maximum that this process's clock may be behind the primary's.
const margin = 5000

// idle reports whether no unit counts any more.
func (p *spending) idle(now int64) bool {
	for i := range p.used {
		if lapse(&p.limits.rules[i], &p.used[i]) > now {
			return false
		}
	}
	return true
}

// divide changes the TATs of shares when their number changes. A bucket of smaller shares
// takes longer to drain.
func (l *limits) divide(shares []exact.State, from, to, now int64) {
	for i := range shares {
		if tat := &shares[i].A; l.rules[i].Limit.Algorithm == store.GCRA && *tat > now {
			*tat = now + share.Scale(*tat-now, to, from)
		}
	}
}

// fill adds the spending to a memory. A spending that the primary may not know keeps its
// ID, and may grow.
func (p *spending) fill(m *store.Memory, parts, now int64) {
	m.ID, m.Ahead, m.SpentAt = p.id, store.Instant(p.ahead), store.Instant(p.at)
	for i := range p.used {
		u := usedOf(&p.used[i])
		switch p.limits.rules[i].Limit.Algorithm {
		case store.SlidingWindow:
			u.Before = 0
		case store.GCRA:
			// A unit takes parts times as long in the share as in the whole limit.
			spent := max(int64(u.At)-max(p.known[i].A, now), 0)
			u = store.Used{At: store.Instant(now + (spent+parts-1)/parts)}
		}
		m.Spent = append(m.Spent, u)
	}
}

// Restore is a restore of a request's keys under way. Other calls for these keys wait for it.
type Restore struct {
	Memories []store.Memory
	Over     chan struct{} // closed at its end

	once  sync.Once
	known bool              // the primary knows Memories; after the end
	sent  map[*spending]int // versions in Memories
}

// maxSpendings bounds the spendings of a key. A further one replaces the oldest.
const maxSpendings = 4

// spend notes charges that were admitted here at an instant. shared are the same charges
// on this process's share, one of parts shares.
func (e *entry) spend(l *limits, charges, shared []store.Charge, parts, at, now, outage int64) {
	m := e.extra()
	if m.debtors != l {
		m.debtors, m.debt = l, make([]exact.State, len(charges))
	}
	if from := m.parts; from > 0 && from != parts {
		l.divide(m.debt, from, parts, now)
		for _, p := range m.spendings {
			p.limits.divide(p.used, from, parts, now)
			p.limits.divide(p.known, from, parts, now)
		}
	}
	m.parts = parts
	p := e.spending(charges)
	if p == nil || p.outage != outage {
		if len(m.spendings) == maxSpendings {
			m.spendings = slices.Delete(m.spendings, 0, 1)
		}
		p = e.newSpending(l, shared, now, outage)
		m.spendings = append(m.spendings, p)
	}
	for i := range charges {
		if cost := charges[i].Cost; cost > 0 {
			whole, part := &l.rules[i], exact.RuleOf(&shared[i].Limit)
			bookAhead(&part, &m.debt[i], at, cost)
			if whole.Limit.Algorithm == store.GCRA {
				book(&part, &p.used[i], at, cost)
			} else {
				book(whole, &p.used[i], at, cost)
				p.used[i].B = min(p.used[i].B, whole.Max)
			}
		}
	}
	p.version++
	p.at = now + margin
	if at > now {
		p.ahead = max(p.ahead, at)
	}
}

// spending returns the last one under the charges' limits, or nil.
func (e *entry) spending(charges []store.Charge) *spending {
	for _, p := range slices.Backward(e.more.spendings) {
		if p.limits.are(charges) {
			return p
		}
	}
	return nil
}

// newSpending returns an empty one. A bucket starts from the primary's state, so a busy one
// is as full after the outage as before.
func (e *entry) newSpending(l *limits, shared []store.Charge, now, outage int64) *spending {
	p := &spending{limits: l, outage: outage, known: make([]exact.State, len(shared))}
	for i := range shared {
		if r := &l.rules[i]; l == e.limits && e.at > 0 && r.Limit.Algorithm == store.GCRA {
			part := exact.RuleOf(&shared[i].Limit)
			p.known[i] = share.State(r, &part, *e.state(i), now)
		}
	}
	p.used = slices.Clone(p.known)
	return p
}
