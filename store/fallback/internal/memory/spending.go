package memory

import (
	"slices"
	"sync"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/share"
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

// margin is the maximum that this process's clock may be behind the primary's.
const margin = 5000

// book adds units of the i-th limit at an instant. shared is the rule of the share.
func (p *spending) book(i int, shared *exact.Rule, at, units int64) {
	r := &p.limits.rules[i]
	most := r.Max
	if r.Limit.Algorithm == store.GCRA {
		r = shared
	}
	book(r, &p.used[i], at, units)
	p.used[i].B = min(p.used[i].B, most)
}

// idle reports whether no unit counts any more.
func (p *spending) idle(now int64) bool {
	for i := range p.used {
		if lapse(&p.limits.rules[i], &p.used[i]) > now {
			return false
		}
	}
	return true
}

// divide changes the number of shares.
func (p *spending) divide(from, to, now int64) {
	for i := range p.used {
		divide(&p.limits.rules[i], &p.used[i].A, from, to, now)
		divide(&p.limits.rules[i], &p.known[i], from, to, now)
	}
}

// divide changes the TAT of a share when the number of shares changes. A bucket of smaller
// shares takes longer to drain.
func divide(r *exact.Rule, tat *int64, from, to, now int64) {
	if r.Limit.Algorithm == store.GCRA && *tat > now {
		*tat = now + share.Scale(*tat-now, to, from)
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
			spent := max(int64(u.At)-max(p.known[i], now), 0)
			u = store.Used{At: store.Instant(now + (spent+parts-1)/parts)}
		}
		m.Spent = append(m.Spent, u)
	}
}

// Restore is a restore of a request's keys under way. Other calls for these keys wait for
// its end.
type Restore struct {
	Keys     []keys.Key
	Memories []store.Memory
	Over     chan struct{} // closed at its end

	once sync.Once
	sent map[*spending]int // versions in Memories
}

// maxSpendings is the maximum number of spendings of a key. A further one replaces the
// oldest.
const maxSpendings = 4

// spend notes charges that were admitted here at an instant. shared are the same charges
// on this process's share, one of parts shares.
func (e *entry) spend(l *limits, charges, shared []store.Charge, parts, at, now, outage int64) {
	m := e.extra()
	if m.debtors != l {
		m.debtors, m.debt = l, make([]exact.State, len(charges))
	}
	if from := m.parts; from > 0 && from != parts {
		for i := range m.debt {
			divide(&l.rules[i], &m.debt[i].A, from, parts, now)
		}
		for _, p := range m.spendings {
			p.divide(from, parts, now)
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
			part := exact.RuleOf(&shared[i].Limit)
			bookAhead(&part, &m.debt[i], at, cost)
			p.book(i, &part, at, cost)
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
	p := &spending{limits: l, outage: outage, used: make([]exact.State, len(shared)), known: make([]int64, len(shared))}
	for i := range shared {
		if r := &l.rules[i]; l == e.limits && e.at > 0 && r.Limit.Algorithm == store.GCRA {
			part := exact.RuleOf(&shared[i].Limit)
			p.known[i] = share.State(r, &part, *e.state(i), now).A
			p.used[i].A = p.known[i]
		}
	}
	return p
}
