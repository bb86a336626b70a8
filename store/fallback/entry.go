package fallback

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// entry is the memory of a key, by the primary's clock:
//
//	at, used, last   the primary's last answer, and its time
//	spendings        units admitted here since then
//	debt             all units admitted here, of this process's share
//
// States are those of package exact. A sliding window's state is the slot of its newest
// unit, and the units that count.
type entry struct {
	limits *limits
	key    string
	at     int64       // 0: no answer
	used   exact.State // of the first limit
	more   *more       // nil in the common case
}

// more has the parts that few keys need.
type more struct {
	used      []exact.State // of the further limits
	spendings []*spending   // unknown to the primary, the oldest first
	debt      []exact.State
	parts     int64 // the number of shares of the limit
	last      int64
	seeded    bool     // the local store knows the primary's answer
	lost      int64    // the time of an answer that the primary has lost
	sending   *sending // nil: no restore is under way
}

func (e *entry) extra() *more {
	if e.more == nil {
		e.more = new(more)
	}
	return e.more
}

// state returns the primary's state of the i-th limit.
func (e *entry) state(i int) *exact.State {
	if i == 0 {
		return &e.used
	}
	return &e.more.used[i-1]
}

// be gives the key the limits of charges, and forgets the states of other limits. Units
// that the primary does not know stay, under their old limits.
func (e *entry) be(l *limits) {
	*e = entry{limits: l, key: e.key, more: e.more}
	if m := e.more; m != nil {
		m.used, m.debt, m.seeded = nil, nil, false
	}
	if n := len(l.rules) - 1; n > 0 {
		e.extra().used = make([]exact.State, n)
	}
}

// told stores an answer of the primary.
func (e *entry) told(seen []store.Seen) {
	e.at = int64(seen[0].At)
	for i := range seen {
		u := seen[i].Used
		*e.state(i) = exact.State{A: int64(u.At), B: u.Units, C: u.Before}
		if last := int64(seen[i].Last); last > 0 {
			m := e.extra()
			m.last = max(m.last, last)
		}
	}
	if e.more != nil {
		e.more.seeded = false
	}
}

// live reports whether the primary's answer still counts at an instant.
func (e *entry) live(now int64) bool {
	if e.at == 0 {
		return false
	}
	if e.more != nil && e.more.last > now {
		return true
	}
	for i := range e.limits.rules {
		if lapse(&e.limits.rules[i], e.state(i)) > now {
			return true
		}
	}
	return false
}

// owes reports whether the primary lacks units that were admitted here.
func (e *entry) owes() bool { return e.more != nil && len(e.more.spendings) > 0 }

// lost reports whether the primary has lost its last answer.
func (e *entry) lost() bool { return e.more != nil && e.at > 0 && e.more.lost == e.at }

// idle reports whether the entry has nothing left to remember.
func (e *entry) idle(now int64) bool {
	if e.more != nil && e.more.sending != nil || e.live(now) {
		return false
	}
	if !e.owes() {
		return true
	}
	for _, p := range e.more.spendings {
		for i := range p.used {
			if lapse(&p.limits.rules[i], &p.used[i]) > now {
				return false
			}
		}
	}
	return true
}

// carry returns the memories for the primary: the entry's, and one for each spending.
func (e *entry) carry(k id, newID func() string, now int64) (list []carried) {
	x := e.extra()
	x.sending = &sending{over: make(chan struct{})}
	m := store.Memory{
		Scope: e.limits.scope, Key: k.key, Limits: e.limits.list,
		At: store.Instant(e.at), Last: store.Instant(x.last),
	}
	for i := range e.limits.rules {
		m.Known = append(m.Known, usedOf(e.state(i)))
	}
	known := false
	for _, p := range x.spendings {
		one := m
		if known = known || p.limits == e.limits; p.limits != e.limits {
			one = store.Memory{Scope: m.Scope, Key: m.Key, Limits: p.limits.list}
		}
		p.fill(&one, newID, x.parts, now)
		list = append(list, carried{k, one, p, p.version, x.sending})
	}
	if !known {
		list = append(list, carried{k, m, nil, 0, x.sending})
	}
	return list
}

func usedOf(s *exact.State) store.Used {
	return store.Used{At: store.Instant(s.A), Units: s.B, Before: s.C}
}
