package modelstore

import (
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// restoreLog moves all that was restored to the slot of the newest unit that is known.
func (e *Entry) restoreLog(limits []store.Limit, known []store.Used, now int64) {
	units, at, moves := map[store.Limit]int64{}, int64(0), false
	for i, l := range limits {
		l.Name = ""
		if l.Algorithm != store.SlidingWindow {
			continue
		}
		had, u, p := e.Restored[l], known[i], l.Period.Microseconds()
		if int64(had.At)+p <= now {
			had = store.Used{}
		}
		if int64(u.At)+p <= now {
			u = store.Used{}
		}
		moves = moves || u.Units > had.Units || u.Units > 0 && u.At > had.At
		units[l] = max(had.Units, u.Units)
		at = max(at, int64(had.At), int64(u.At))
	}
	if !moves {
		return
	}
	for n, gone := range e.Moved {
		for i := n - e.Log.First; i >= 0 && i < int64(len(e.Log.Entries)); i++ {
			e.Log.Entries[i].Sum -= gone
		}
		for i := range e.Parts {
			if p := &e.Parts[i]; p.Rule.Limit.Algorithm == store.SlidingWindow && p.State.A > n {
				p.State.B -= gone
			}
		}
	}
	e.Moved = map[int64]int64{}
	at = e.push(units, at, true)
	for l, n := range units {
		if n > 0 {
			e.Restored[l] = store.Used{At: store.Instant(at), Units: n}
		}
	}
}

// spendLog adds units as far as they fit into the windows that end at their slot.
func (e *Entry) spendLog(limits []store.Limit, spent, added []store.Used, now int64) {
	more, units, at := map[store.Limit]int64{}, map[store.Limit]int64{}, int64(0)
	for i, l := range limits {
		l.Name = ""
		if l.Algorithm != store.SlidingWindow || int64(spent[i].At)+l.Period.Microseconds() <= now {
			continue
		}
		more[l] = spent[i].Units
		if int64(added[i].At)+l.Period.Microseconds() > now {
			more[l] -= added[i].Units
		}
		at = max(at, int64(spent[i].At))
	}
	slot := max(at, e.Clock.Now(now))
	if n := len(e.Log.Entries); n > 0 {
		slot = max(slot, e.Log.Entries[n-1].At)
	}
	for _, p := range e.Parts {
		if n, ok := more[p.Rule.Limit]; ok {
			remaining, _ := p.Rule.View(&p.State, &e.Log, slot)
			units[p.Rule.Limit] = max(min(n, remaining), 0)
		}
	}
	e.push(units, at, false)
}

// push adds units to the log. In an empty one wider windows have entries of their own.
func (e *Entry) push(units map[store.Limit]int64, at int64, restored bool) int64 {
	var parts []*exact.Part
	empty, sum := true, e.Log.Base
	for _, entry := range e.Log.Entries {
		empty, sum, at = empty && entry.Sum == e.Log.Base, entry.Sum, max(at, entry.At)
	}
	end := e.Log.First + int64(len(e.Log.Entries))
	for i := range e.Parts {
		if p := &e.Parts[i]; p.Rule.Limit.Algorithm == store.SlidingWindow {
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, func(a, b *exact.Part) int { return int(units[b.Rule.Limit] - units[a.Rule.Limit]) })
	for i, p := range parts {
		more := units[p.Rule.Limit]
		if i+1 < len(parts) {
			more -= units[parts[i+1].Rule.Limit]
		}
		if empty {
			p.State.A, p.State.B = end, sum
		}
		if more > 0 {
			sum += more
			e.Log.Entries = append(e.Log.Entries, exact.Entry{At: at, Sum: sum})
			if restored {
				e.Moved[end] = more
			}
			end++
		}
	}
	return at
}

// used is the state of a limit, as a Seen has it.
func (e *Entry) used(l *store.Limit, now int64) store.Used {
	v := e.Clock.Now(now)
	for _, p := range e.Parts {
		if !p.Rule.Is(l) {
			continue
		}
		u := store.Used{At: store.Instant(p.State.A), Units: p.State.B, Before: p.State.C}
		if l.Algorithm == store.SlidingWindow {
			s, entries := p.State, e.Log.Entries
			remaining, _ := p.Rule.View(&s, &e.Log, v)
			if u = (store.Used{Units: p.Rule.Max - remaining}); len(entries) > 0 {
				u.At = store.Instant(entries[len(entries)-1].At)
			}
		}
		if !exact.InRealTime(l.Algorithm) {
			u.At = store.Instant(e.Clock.Real(int64(u.At)))
		}
		return u
	}
	return store.Used{}
}
