package memory

import (
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
	known   []int64       // for a bucket the share's TAT without these units
	ahead   int64         // the last slot granted here; 0: none
	at      int64         // the latest time of the last unit
	id      string        // "": never sent to the primary
	version int           // of used; it counts changes
}

// margin is the maximum that this process's clock may be behind the primary's.
const margin = 5000

// add adds units of the charges that were admitted at an instant.
func (p *spending) add(charges, shared []store.Charge, at, now int64) {
	for i := range charges {
		cost, r := charges[i].Cost, &p.limits.rules[i]
		if cost == 0 {
			continue
		}
		most := r.Max
		if r.Limit.Algorithm == store.GCRA {
			part := exact.RuleOf(&shared[i].Limit)
			r = &part
		}
		book(r, &p.used[i], at, cost)
		p.used[i].B = min(p.used[i].B, most)
	}
	p.version++
	p.at = now + margin
	if at > now {
		p.ahead = max(p.ahead, at)
	}
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
