package localstore

import "hash/maphash"

// sweep looks at up to n keys, each in turn, and forgets those whose state has
// lapsed. It returns at how many it looked, and how many it has forgotten.
func (t *table) sweep(seed maphash.Seed, h *hots, now int64, n int) (looks, forgotten int) {
	for steps := min(4*n, len(t.tags)); steps > 0 && looks < n; steps-- {
		// Downwards, as those behind one that is removed come to its place.
		if t.hand == 0 || t.hand > len(t.tags) {
			t.hand = len(t.tags)
		}
		t.hand--
		if t.tags[t.hand] == 0 {
			continue
		}
		looks++
		at := &t.slots[t.hand]
		if at.state.B == isHot && !h.lapsed(at, now) {
			continue
		}
		if t.lapse(at) <= now {
			size := len(t.tags)
			t.remove(seed, t.hand)
			forgotten++
			if len(t.tags) != size {
				break
			}
		}
	}
	return looks, forgotten
}

// lapse returns the instant from which a key is as if never used.
func (t *table) lapse(at *small) int64 {
	m := &t.classes[at.class]
	lapse := m.of.Lapse(&at.state, nil)
	for i, st := range m.further(at) {
		lapse = max(lapse, m.of.more[i].Lapse(&st, nil))
	}
	return lapse
}
