package memory

import (
	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// Recall sets the time of the primary's last answer for each charge's key. It leaves out
// answers that lapse before until, and keys that another call restores now. owes: the
// primary lacks units, or a restore is under way. ahead is the last slot that it lacks; 0: none.
func (t *Memory) Recall(charges []store.Charge, seen []store.Seen, until int64) (owes bool, ahead int64) {
	for i := range charges {
		seen[i] = store.Seen{}
		if i > 0 && keys.Same(&charges[i], &charges[i-1]) {
			seen[i] = seen[i-1]
			continue
		}
		t.with(keys.Of(&charges[i]), func(e *entry) {
			owes = owes || e.owes() || e.lost() || e.more.sending != nil
			for _, p := range e.more.spendings {
				ahead = max(ahead, p.ahead)
			}
			if e.live(until) && e.more.sending == nil {
				seen[i].At = store.Instant(e.at)
			}
		})
	}
	return owes, ahead
}

// Lose notes the keys whose states the primary has lost, and reports whether a state was lost. A
// state that lapsed before a slow call arrived was not. The key's next call restores a lost state.
func (t *Memory) Lose(charges []store.Charge, seen []store.Seen, now int64) (lost bool) {
	for i := range charges {
		t.with(keys.Of(&charges[i]), func(e *entry) {
			if e.at == int64(seen[i].At) && e.live(now) {
				e.extra().lost, lost = e.at, true
			}
		})
	}
	return lost
}

// Learn stores an answer of the primary.
func (t *Memory) Learn(charges []store.Charge, seen []store.Seen) {
	for i := range charges {
		if seen[i].At == 0 || !keys.First(charges, i) {
			continue
		}
		t.change(keys.Pick(charges, charges, i), int64(seen[i].At), func(e *entry, l *limits) { e.learn(l, keys.Pick(seen, charges, i)) })
	}
}

// Spend notes charges that were admitted here at an instant. shared are the same charges
// on this process's share, one of parts shares.
func (t *Memory) Spend(charges, shared []store.Charge, parts, at, now, outage int64) {
	for i := range charges {
		if !keys.First(charges, i) {
			continue
		}
		mine := keys.Pick(charges, charges, i)
		t.change(mine, now, func(e *entry, l *limits) { e.spend(l, mine, keys.Pick(shared, charges, i), parts, at, now, outage) })
	}
}

// Correct notes the real cost of charges that the primary, or this process, admitted at
// an instant.
func (t *Memory) Correct(charges []store.Charge, cost func(charge int) int64, at int64, primary bool) {
	for i := range charges {
		c, more := &charges[i], cost(i)-charges[i].Cost
		if c.Cost > 0 && more != 0 {
			t.with(keys.Of(c), func(e *entry) { e.correct(&c.Limit, at, more, primary) })
		}
	}
}

// Forget drops a key.
func (t *Memory) Forget(scope, key string) {
	sh, hash, e := t.lock(scope, key)
	defer sh.mu.Unlock()
	if e != nil {
		delete(sh.entries, hash)
	}
}

// Seed gives a local store the primary's answers about the charges' keys, each once, unless
// the primary lacks units admitted here. shared are the charges on this process's share.
func (t *Memory) Seed(charges, shared []store.Charge, now int64, seed func(store.Memory)) {
	for i := range charges {
		if !keys.First(charges, i) {
			continue
		}
		mine := keys.Pick(charges, charges, i)
		t.with(keys.Of(&mine[0]), func(e *entry) {
			if m := e.more; e.at != m.seeded && e.limits.are(mine) && (m.seeded == 0 || !e.owes()) {
				e.extra().seeded = e.at
				seed(e.ofShare(mine[0].Key, keys.Pick(shared, charges, i), max(now, e.at))) // The clock may have stepped back.
			}
		})
	}
}
