package localstore

import (
	"sort"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// Seed replaces the state of a key by another store's state. m.At is the present instant by
// the clock of m: instants keep their distance to it. A fallback store calls Seed when the
// other store goes away. Seed does nothing for a new key if the store is full.
//
// Seed does not add spent units. Leases and the brake of the key stay as they are.
func (s *Store) Seed(m store.Memory) {
	sh, k := s.lockKey(m.Scope, m.Key)
	defer sh.mu.Unlock()
	now := s.now()
	if m.Last <= m.At && s.seedSmall(sh, &k, &m, now) {
		return
	}
	e, fresh := s.open(sh, k, now)
	if fresh && !s.keep(sh, e, now) {
		return
	}
	e.seed(&m, now)
	e.setLapse()
}

// seed gives the key these limits in their states. Earlier receipts then change nothing.
func (e *entry) seed(m *store.Memory, now int64) {
	clock, by := e.key.Clock, now-int64(m.At)
	e.key = exact.Key{Born: now, Clock: clock, Parts: e.key.Parts[:0]}
	if m.Last > m.At {
		// The first slot ahead is not known, so a pause holds all slots.
		e.key.Queue.Last, e.key.Queue.First = clock.Now(int64(m.Last)+by), clock.Now(now)+1
	}
	var windows []logged
	for i := range m.Limits {
		p, u := exact.Part{Rule: exact.RuleOf(&m.Limits[i])}, m.Known[i]
		if p.Rule.Limit.Algorithm == store.SlidingWindow {
			windows = append(windows, logged{i, u.Units, clock.Now(int64(u.At) + by)})
		} else {
			p.State = p.Rule.StateOf(u, int64(m.At), now)
			if p.Rule.Limit.Algorithm == store.GCRA {
				p.State.A = clock.Now(p.State.A)
			}
		}
		e.key.Parts = append(e.key.Parts, p)
	}
	e.seedLog(windows)
}

// logged has the used units of a sliding window, and the slot of the newest.
type logged struct {
	part     int
	used, at int64
}

// seedLog makes a log. The window with the most units counts all entries. Each next window
// leaves out the first ones, so that each counts its own used units.
func (e *entry) seedLog(windows []logged) {
	sort.Slice(windows, func(i, j int) bool { return windows[i].used > windows[j].used })
	var at, sum int64
	for i := range windows {
		at = max(at, windows[i].at)
	}
	for i, w := range windows {
		e.key.Parts[w.part].State = exact.State{A: int64(len(e.key.Log.Entries)), B: sum}
		if w.used == 0 {
			continue
		}
		sum += w.used
		if i+1 < len(windows) {
			sum -= windows[i+1].used
		}
		e.key.Log.Entries = append(e.key.Log.Entries, exact.Entry{At: at, Sum: sum})
	}
}

// seedSmall is Seed for a small key. For other keys it reports false, and changes nothing.
func (s *Store) seedSmall(sh *shard, k *id, m *store.Memory, now int64) bool {
	if len(m.Limits) > maxLimits || sh.keys[*k] != nil {
		return false
	}
	var room [maxLimits]exact.State
	var charges [maxLimits]store.Charge
	seeds := room[:len(m.Limits)]
	for i := range seeds {
		if !isSmall(&m.Limits[i]) {
			return false
		}
		charges[i].Limit = m.Limits[i]
		r := exact.RuleOf(&m.Limits[i])
		seeds[i] = r.StateOf(m.Known[i], int64(m.At), now)
	}
	a := ask{id: *k, hash: s.hash(k), charges: charges[:len(seeds)]}
	if c, first, further := sh.small.get(a.hash, k); c != nil {
		if !c.is(a.charges) {
			return false
		}
		*first = seeds[0]
		copy(further, seeds[1:])
		return true
	}
	c, class := s.classFor(sh, &a, now)
	if c != nil && s.makeRoom(1, now) {
		sh.small.put(&a, class, seeds[0], seeds[1:])
	}
	return c != nil
}
