package memory

import (
	"cmp"
	"crypto/rand"
	"iter"
	"slices"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// Due begins to restore the charges' keys that the primary lacks; nil: it lacks none. While
// another call restores one of the keys, Due begins nothing and returns that restore as
// under. A call that has waited in vain begins one of its own. A call after the good end of a
// restore waits for no other one.
func (t *Memory) Due(charges []store.Charge, now int64, waited bool, after *Restore) (r, under *Restore) {
	for i := 0; i < len(charges) && under == nil; i++ {
		t.with(keys.Of(&charges[i]), func(e *entry) {
			switch sending := e.more.sending; {
			case !keys.First(charges, i):
			case sending != nil && after != nil && after.known && keys.One(charges):
			case sending != nil && !waited:
				under = sending
			case sending != nil || e.owes() || e.lost():
				if r == nil {
					r = &Restore{Over: make(chan struct{}), sent: make(map[*spending]int)}
				}
				e.restore(r, charges[i].Key, now)
			}
		})
	}
	if under != nil && r != nil {
		t.Sent(r, false)
		r = nil
	}
	return r, under
}

// Sent ends a restore, and notes whether the primary knows its memories now.
func (t *Memory) Sent(r *Restore, known bool) {
	for _, m := range r.Memories {
		t.with(keys.Key{Scope: m.Scope, Key: m.Key}, func(e *entry) { e.sent(r, known) })
	}
	r.once.Do(func() { r.known = known; close(r.Over) })
}

// restore adds the memories of the key to a restore: the entry's, and one for each spending.
func (e *entry) restore(r *Restore, key string, now int64) {
	x := e.extra()
	answer := store.Memory{
		Scope: e.limits.scope, Key: key, Limits: e.limits.list,
		At: store.Instant(e.at), Last: store.Instant(x.last),
	}
	for i := range e.limits.rules {
		answer.Known = append(answer.Known, usedOf(e.state(i)))
	}
	alone := true
	for _, p := range x.spendings {
		m := store.Memory{Scope: answer.Scope, Key: key, Limits: p.limits.list}
		if p.limits == e.limits {
			m, alone = answer, false
		}
		p.id = cmp.Or(p.id, rand.Text())
		p.fill(&m, x.parts, max(now, p.at-margin)) // The clock may have stepped back.
		r.Memories = append(r.Memories, m)
		r.sent[p] = p.version
	}
	if alone {
		r.Memories = append(r.Memories, answer)
	}
	x.sending = r
}

// sent notes that a restore has ended, and whether the primary knows its memories now. A
// spending that has grown since stays.
func (e *entry) sent(r *Restore, known bool) {
	m := e.extra() // The key may have been forgotten meanwhile, and have come again.
	if m.sending == r {
		m.sending = nil
	}
	m.spendings = slices.DeleteFunc(m.spendings, func(p *spending) bool {
		return known && r.sent[p] == p.version
	})
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
