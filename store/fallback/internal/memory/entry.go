package memory

import (
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/share"
)

// entry is the memory of a key, by the primary's clock:
//
//	limits, at, used, last   the primary's last answer, and its time
//	spendings                units admitted here since then, perhaps under other limits
//	debt                     all units admitted here, of this process's share
type entry struct {
	limits *limits
	key    string
	at     int64       // 0: no answer
	used   exact.State // of the first limit
	more   *more       // &none in the common case
}

// more has the parts that few keys need.
type more struct {
	used      []exact.State // of the further limits
	spendings []*spending   // unknown to the primary, the oldest first
	debt      []exact.State
	debtors   *limits // of debt
	parts     int64   // the number of shares of the limit
	last      int64
	seeded    int64    // the time of the answer that the local store started from
	lost      int64    // the time of an answer that the primary has lost
	sending   *Restore // nil: no restore is under way
}

// none is shared, and never changes.
var none more

// extra returns parts that may change.
func (e *entry) extra() *more {
	if e.more == &none {
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

// be gives the answer other limits, and forgets the states of the old ones.
func (e *entry) be(l *limits) {
	e.limits, e.at, e.used = l, 0, exact.State{}
	if n := len(l.rules) - 1; n > 0 || e.more != &none {
		m := e.extra()
		m.used, m.seeded = make([]exact.State, n), 0
	}
}

// learn stores an answer of the primary about limits, unless a later one is known: at the same
// instant a fuller one. An answer that is 5 s older is by a clock that has stepped back.
func (e *entry) learn(l *limits, seen []store.Seen) {
	if e.limits != l {
		e.be(l)
	}
	at := int64(seen[0].At)
	if at < e.at && at > e.at-5_000_000 {
		return
	}
	if at < e.at && e.more != &none { // Instants by the clock before the step may be far ahead.
		e.more.last = 0
		clear(e.more.debt)
	}
	for i := range seen {
		u, s := seen[i].Used, e.state(i)
		if at != e.at || int64(u.At) > s.A || int64(u.At) == s.A && u.Units > s.B {
			*s = exact.State{A: int64(u.At), B: u.Units, C: u.Before}
		}
		if last := int64(seen[i].Last); last > e.more.last {
			e.extra().last = last
		}
	}
	e.at = at
}

// live reports whether the primary's answer still counts at an instant.
func (e *entry) live(now int64) bool {
	if e.at == 0 {
		return false
	}
	if e.more.last > now {
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
func (e *entry) owes() bool { return len(e.more.spendings) > 0 }

// lost reports whether the primary has lost its last answer.
func (e *entry) lost() bool { return e.at > 0 && e.more.lost == e.at }

// idle reports whether the entry has nothing left to remember.
func (e *entry) idle(now int64) bool {
	return e.more.sending == nil && !e.live(now) &&
		!slices.ContainsFunc(e.more.spendings, func(p *spending) bool { return !p.idle(now) })
}

// correct changes the units of a booking at an instant. primary says who admitted it.
func (e *entry) correct(l *store.Limit, at, more int64, primary bool) {
	switch i := e.limits.index(l); {
	case primary && i >= 0:
		correct(&e.limits.rules[i], e.state(i), at, more)
		return
	case primary || e.more.debtors == nil:
		return
	}
	if l.Algorithm == store.GCRA {
		more *= e.more.parts // A unit takes parts times as long in the share.
	}
	if i := e.more.debtors.index(l); i >= 0 {
		correct(&e.more.debtors.rules[i], &e.more.debt[i], at, more)
	}
	for _, p := range slices.Backward(e.more.spendings) {
		if i := p.limits.index(l); i >= 0 {
			p.version++
			correct(&p.limits.rules[i], &p.used[i], at, more)
			return
		}
	}
}

// ofShare returns the memory for a local store that has a share of each limit.
func (e *entry) ofShare(key string, shared []store.Charge, now int64) store.Memory {
	parts := limitsOf(shared)
	m := store.Memory{Scope: parts.scope, Key: key, Limits: parts.list, At: store.Instant(now), Last: store.Instant(e.more.last)}
	for i := range parts.rules {
		part := &parts.rules[i]
		s := share.State(&e.limits.rules[i], part, *e.state(i), now)
		if e.more.debtors == e.limits {
			s = larger(part, s, e.more.debt[i], now)
		}
		m.Known = append(m.Known, usedOf(&s))
	}
	return m
}
