package memory

import (
	"iter"
	"slices"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// Due begins the restore of a key that the primary lacks. While another call restores the
// key, Due returns that restore as under. A call that has waited begins one of its own.
// lost is the time of an answer that may be lost, or 0.
func (t *Memory) Due(key keys.Key, lost, now int64, waited bool) (r, under *Restore) {
	t.with(key, func(e *entry) {
		under = e.more.sending
		if under != nil && waited || under == nil && (e.owes() || e.lost() || lost > 0 && e.at == lost) {
			r, under = e.restore(key.Key, t.newID, now), nil
		}
	})
	return r, under
}

// Sent ends a restore, and notes whether the primary knows its memories now.
func (t *Memory) Sent(r *Restore, known bool, now int64) {
	r.once.Do(func() { close(r.Over) })
	t.with(r.Key, func(e *entry) { e.sent(r, known, now) })
}

// restore returns the memories for the primary: the entry's, and one for each spending.
func (e *entry) restore(key string, newID func() string, now int64) *Restore {
	x := e.extra()
	r := &Restore{Key: keys.Key{Scope: e.limits.scope, Key: key}, Over: make(chan struct{}), now: now}
	answer := store.Memory{
		Scope: r.Scope, Key: key, Limits: e.limits.list,
		At: store.Instant(e.at), Last: store.Instant(x.last),
	}
	for i := range e.limits.rules {
		answer.Known = append(answer.Known, usedOf(e.state(i)))
	}
	alone := true
	for _, p := range x.spendings {
		m := answer
		if p.limits == e.limits {
			alone = false
		} else {
			m = store.Memory{Scope: r.Scope, Key: key, Limits: p.limits.list}
		}
		if p.id == "" {
			p.id = newID()
		}
		p.fill(&m, x.parts, now)
		r.Memories = append(r.Memories, m)
		r.spendings, r.versions = append(r.spendings, p), append(r.versions, p.version)
	}
	if alone {
		r.Memories = append(r.Memories, answer)
	}
	x.sending = r
	return r
}

// sent notes that a restore has ended, and whether the primary knows its memories now. A
// spending that has grown since stays.
func (e *entry) sent(r *Restore, known bool, now int64) {
	m := e.more
	if m == &none { // A Reset has forgotten it.
		return
	}
	if m.sending == r {
		m.sending = nil
	}
	if !known {
		return
	}
	for i, p := range r.spendings {
		if j := slices.Index(m.spendings, p); j >= 0 && p.version == r.versions[i] {
			m.spendings = slices.Delete(m.spendings, j, j+1)
			if p.limits == e.limits && e.at == int64(r.Memories[i].At) {
				e.know(r.Memories[i].Spent, r.now, now)
			}
		}
	}
	if e.at > 0 {
		e.at = max(e.at, now)
	}
}

// know adds units that the primary has since an instant to its last answer, so that it may
// lose them.
func (e *entry) know(spent []store.Used, since, now int64) {
	e.at = max(e.at, now)
	for i := range spent {
		r, s, at := &e.limits.rules[i], e.state(i), int64(spent[i].At)
		if r.Limit.Algorithm == store.GCRA {
			s.A = min(max(s.A, now)+max(at-since, 0), max(s.A, now+r.Pace.Full.Whole))
			continue
		}
		most := max(s.B, r.Max)
		book(r, s, at, spent[i].Units)
		if s.B = min(s.B, most); r.Limit.Algorithm == store.SlidingCounter && s.A == at {
			s.C = min(s.C+spent[i].Before, max(s.C, r.Max))
		}
	}
}

// Lacking yields the keys that the primary may lack, shard by shard: keys with spent
// units, and 0; keys without an answer since an instant, and the time of their last. Long
// keys wait for a call, as their text is not stored.
func (t *Memory) Lacking(since int64) iter.Seq2[keys.Key, int64] {
	return func(yield func(keys.Key, int64) bool) {
		for i := range t.shards {
			for key, lost := range t.shards[i].lacking(since) {
				if !yield(key, lost) {
					return
				}
			}
		}
	}
}

func (sh *shard) lacking(since int64) map[keys.Key]int64 {
	lacking := map[keys.Key]int64{}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, e := range sh.entries {
		key := keys.Key{Scope: e.limits.scope, Key: e.key}
		switch {
		case hashed(e.key):
		case e.owes():
			lacking[key] = 0
		case e.at < since && e.live(since):
			lacking[key] = e.at
		}
	}
	return lacking
}
