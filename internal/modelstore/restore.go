package modelstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// Loss is the knowledge of a key about losses.
type Loss struct {
	Birth    int64
	WasReset bool
	Promised int64 // the last slot of all memories
	Restored map[store.Limit]store.Used
	Moved    map[int64]int64 // restored entries of the log, and their units
	Added    map[string][]store.Used
}

// LostSince reports whether the state was lost since a caller saw it.
func (e *Entry) LostSince(seen store.Instant, now int64) bool {
	born := e.Birth
	if born == 0 {
		born = now
	}
	return seen > 0 && born > int64(seen) && !e.WasReset
}

// Restore implements [store.Restorer]. It adds the missing units, however full the limits are.
func (m *Store) Restore(_ context.Context, mem store.Memory) (lost bool, err error) {
	if err := mem.Validate(); err != nil {
		return false, err
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	t := Now()
	e := m.Entry(ID{mem.Scope, mem.Key}, t)
	lost = e.LostSince(mem.At, t)
	adds := mem.ID != "" && mem.Spent != nil && !(e.WasReset && mem.SpentAt > 0 && int64(mem.SpentAt) < e.Birth)
	if !lost && !adds {
		return false, nil
	}
	if e.Birth == 0 {
		e.Birth, e.Born = t, t
	}
	added := make([]store.Used, len(mem.Limits))
	if adds {
		if e.Added == nil {
			e.Added = map[string][]store.Used{}
		}
		copy(added, e.Added[mem.ID])
		e.Added[mem.ID] = slices.Clone(mem.Spent)
	}
	var charges []store.Charge
	for _, l := range mem.Limits {
		l.Name = ""
		if !slices.ContainsFunc(charges, func(c store.Charge) bool { return c.Limit == l }) {
			charges = append(charges, store.Charge{Limit: l})
		}
	}
	var f exact.Found
	e.Open(&f, charges, t)
	e.Find(&f, charges, t)
	e.Book(&f, charges, t, 0)
	for i := range charges {
		l := charges[i].Limit
		at := slices.IndexFunc(mem.Limits, func(o store.Limit) bool { o.Name = ""; return o == l })
		p := slices.IndexFunc(e.Parts, func(p exact.Part) bool { return p.Rule.Is(&l) })
		if lost {
			e.restore(&e.Parts[p], mem.Known[at], t)
		}
		if adds {
			e.add(&e.Parts[p], mem.Spent[at], added[at], t, false)
		}
	}
	if lost {
		e.restoreLog(mem.Limits, mem.Known, t)
	}
	if adds {
		e.spendLog(mem.Limits, mem.Spent, added, t)
	}
	slot := int64(0)
	if lost {
		slot = int64(mem.Last)
	}
	if adds {
		slot = max(slot, int64(mem.Ahead))
	}
	if slot > t {
		e.Promised = max(e.Promised, e.Clock.Now(slot))
		e.Queue.First, e.Queue.Cost, e.Queue.Last = e.Clock.Now(t)+1, 0, max(e.Queue.Last, e.Clock.Now(slot))
	}
	return lost, nil
}

// restore adds a limit's known units, as far as none were restored before.
func (e *Entry) restore(p *exact.Part, known store.Used, now int64) {
	l := p.Rule.Limit
	if e.Restored == nil {
		e.Restored = map[store.Limit]store.Used{}
	}
	had := e.Restored[l]
	switch l.Algorithm {
	case store.GCRA:
		if int64(known.At) < now || cmp.Or(cmp.Compare(known.At, had.At), cmp.Compare(known.Units, had.Units)) <= 0 {
			return
		}
		if had.At < store.Instant(e.Birth) {
			had = store.Used{At: store.Instant(e.Birth)}
		}
	case store.SlidingCounter:
		had, known = rolled(p, had, now), rolled(p, known, now)
		known.Units, known.Before = max(known.Units, had.Units), max(known.Before, had.Before)
	case store.SlidingWindow:
		return // See log.
	default:
		if int64(had.At)+p.Rule.Period <= now {
			had = store.Used{}
		}
		if int64(known.At)+p.Rule.Period <= now || known.Units <= had.Units {
			return
		}
	}
	e.Restored[l] = known
	e.add(p, known, had, now, true)
}

func rolled(p *exact.Part, u store.Used, now int64) store.Used {
	s, period := int64(u.At), p.Rule.Period
	switch start := now - now%period; {
	case s >= start:
		return u
	case s == start-period:
		return store.Used{At: store.Instant(start), Before: u.Units}
	default:
		return store.Used{At: store.Instant(start)}
	}
}

// add adds the difference of two states, to the brim at most.
func (e *Entry) add(p *exact.Part, u, had store.Used, now int64, known bool) {
	s, r, at := &p.State, &p.Rule, int64(u.At)
	most := r.Max
	if known {
		most = max(most, u.Units, u.Before)
	}
	switch r.Limit.Algorithm {
	case store.GCRA:
		from := exact.Micros{Whole: int64(had.At), Rem: had.Units}
		if !known {
			if from.Whole < now {
				from = exact.Micros{Whole: now}
			}
			if !from.Less(exact.Micros{Whole: at, Rem: u.Units}) {
				return
			}
			s.A = max(s.A, now)
		}
		t := exact.Micros{Whole: s.A, Rem: s.B}
		to := exact.Micros{Whole: at, Rem: u.Units}
		sum := t.Plus(to.Minus(from, r.Pace.Den), r.Pace.Den)
		brim := exact.Micros{Whole: now}.Plus(r.Pace.Full, r.Pace.Den)
		for _, o := range []exact.Micros{t, to} {
			if brim.Less(o) {
				brim = o
			}
		}
		if brim.Less(sum) {
			sum = brim
		}
		s.A, s.B = sum.Whole, sum.Rem
	case store.SlidingCounter:
		u = rolled(p, u, now)
		if !known {
			had = rolled(p, had, now)
			had.Units, had.Before = min(had.Units, u.Units), min(had.Before, u.Before)
		}
		is := rolled(p, store.Used{At: store.Instant(s.A), Units: s.B, Before: s.C}, now)
		s.A = int64(u.At)
		s.B = min(is.Units+u.Units-had.Units, max(is.Units, most))
		s.C = min(is.Before+u.Before-had.Before, max(is.Before, most))
	case store.SlidingWindow: // See log.
	default:
		if !known && had.At != u.At {
			had.Units = 0
		}
		if u.Units <= had.Units || at+r.Period <= now {
			return
		}
		if s.B == 0 || s.A+r.Period <= now || at > now {
			s.A, s.B = at, 0
		}
		s.A, s.B = min(s.A, at), min(s.B+u.Units-had.Units, max(s.B, most))
	}
}
