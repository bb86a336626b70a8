package memory

import (
	"iter"
	"slices"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// Due begins the restore of a key that the primary lacks. While another call restores the
// key, Due returns that restore as under. A call that has waited begins one of its own.
func (t *Memory) Due(key keys.Key, now int64, waited bool) (r, under *Restore) {
	t.with(key, func(e *entry) {
		under = e.more.sending
		if under != nil && waited || under == nil && (e.owes() || e.lost()) {
			r, under = e.restore(key.Key, t.newID, now), nil
		}
	})
	return r, under
}

// Sent ends a restore, and notes whether the primary knows its memories now.
func (t *Memory) Sent(r *Restore, known bool) {
	r.once.Do(func() { close(r.Over) })
	t.with(r.Key, func(e *entry) { e.sent(r, known) })
}

// restore returns the memories for the primary: the entry's, and one for each spending.
func (e *entry) restore(key string, newID func() string, now int64) *Restore {
	x := e.extra()
	r := &Restore{Key: keys.Key{Scope: e.limits.scope, Key: key}, Over: make(chan struct{})}
	answer := store.Memory{
		Scope: r.Scope, Key: key, Limits: e.limits.list,
		At: store.Instant(e.at), Last: store.Instant(x.last),
	}
	for i := range e.limits.rules {
		answer.Known = append(answer.Known, usedOf(e.state(i)))
	}
	alone := true
	for _, p := range x.spendings {
		m := store.Memory{Scope: r.Scope, Key: key, Limits: p.limits.list}
		if p.limits == e.limits {
			m, alone = answer, false
		}
		if p.id == "" {
			p.id = newID()
		}
		p.fill(&m, x.parts, max(now, p.at-margin)) // The clock may have stepped back.
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
func (e *entry) sent(r *Restore, known bool) {
	m := e.more
	if m.sending == r {
		m.sending = nil
	}
	for i, p := range r.spendings {
		if j := slices.Index(m.spendings, p); known && j >= 0 && p.version == r.versions[i] {
			m.spendings = slices.Delete(m.spendings, j, j+1)
		}
	}
}

// Lacking yields looks at the keys that the primary may lack: keys with spent units, and
// true; keys without an answer since an instant, and false. Long keys wait for a call.
func (t *Memory) Lacking(since int64) iter.Seq2[[]store.Charge, bool] {
	return func(yield func([]store.Charge, bool) bool) {
		for i := range t.shards {
			for _, l := range t.shards[i].lacking(since) {
				if !yield(l.charges, l.owes) {
					return
				}
			}
		}
	}
}

type lack struct {
	charges []store.Charge
	owes    bool
}

func (sh *shard) lacking(since int64) (all []lack) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, e := range sh.entries {
		l := lack{owes: e.owes()}
		if hashed(e.key) || !l.owes && (e.at >= since || !e.live(since)) {
			continue
		}
		for _, limit := range e.limits.list {
			l.charges = append(l.charges, store.Charge{Scope: e.limits.scope, Key: e.key, Limit: limit})
		}
		all = append(all, l)
	}
	return all
}
