package localstore

import "github.com/goweir/weir/internal/exact"

// smalls holds the small keys of a shard, behind its lock. Hot keys need no lock.
type smalls struct {
	last  int64  // the time of the last call
	calls uint64 // of keys that were not hot
	table
	_   [40]byte // hot has its own cache lines.
	hot hots
}

// looksForHot is the number of calls for each look for a hot key. A key in constant use comes
// up soon.
const looksForHot = 8

// latest returns the time of a call that has read the clock: now, or the time of the call
// before, if that has read the clock later.
func (m *smalls) latest(now int64) int64 {
	m.last = max(m.last, now)
	return m.last
}

// taken is a decision on a small key. Its outcome follows from it.
type taken struct {
	class     *class
	state     exact.State
	slot, now int64
}

// take decides a request under one limit at t.now. found: the key is small. done is false,
// and nothing has changed, if the limit is another.
func (m *smalls) take(a *ask, t *taken, clock func() int64) (found, done bool) {
	i := m.find(a.hash, &a.id, a.class)
	if i < 0 {
		return false, false
	}
	at := &m.slots[i]
	if t.class = m.classes[at.class].of; t.class != a.class && !t.class.is(a.charges) {
		return true, false
	}
	m.hot.cool(at)
	t.slot = t.class.take(a, &at.state, t.now)
	if t.slot > t.now && t.slot-t.now <= maxLate && t.class.whole { // The key may have been hot.
		t.now = m.latest(clock())
		t.slot = t.class.take(a, &at.state, t.now)
	}
	t.state = at.state
	m.warm(a.hash, i)
	return true, true
}

// put makes a new key small, with its states. class is the index of its class.
func (m *smalls) put(a *ask, class int, first exact.State, further []exact.State) {
	at := &m.slots[m.add(a.hash, &a.id, class)]
	at.state = first
	copy(m.classes[class].further(at), further)
}

// get returns the class and the states of a key; nil if it is not small.
func (m *smalls) get(hash uint64, k *id) (c *class, first *exact.State, further []exact.State) {
	i := m.find(hash, k, nil)
	if i < 0 {
		return nil, nil, nil
	}
	at := &m.slots[i]
	m.hot.cool(at)
	of := &m.classes[at.class]
	return of.of, &at.state, of.further(at)
}

// takeOut removes a key and appends its limits to parts.
func (m *smalls) takeOut(hash uint64, k *id, parts []exact.Part) []exact.Part {
	c, first, further := m.get(hash, k)
	parts = append(parts, exact.Part{Rule: c.Rule, State: *first})
	for i, st := range further {
		parts = append(parts, exact.Part{Rule: c.more[i], State: st})
	}
	m.remove(m.find(hash, k, c))
	return parts
}

// sweep looks at up to n keys, each in turn, and forgets lapsed ones. It returns the
// number of keys that it looked at, and of those that it forgot.
func (m *smalls) sweep(now int64, n int) (looks, forgotten int) {
	for steps := min(4*n, len(m.tags)); steps > 0 && looks < n; steps-- {
		// Downwards: a removal moves later slots back.
		if m.hand == 0 || m.hand > len(m.tags) {
			m.hand = len(m.tags)
		}
		m.hand--
		if m.tags[m.hand] == 0 {
			continue
		}
		looks++
		at := &m.slots[m.hand]
		if at.state.B == isHot && !m.hot.lapsed(at, now) {
			continue
		}
		if m.lapse(at) <= now {
			size := len(m.tags)
			m.remove(m.hand)
			forgotten++
			if len(m.tags) != size {
				break
			}
		}
	}
	return looks, forgotten
}

// warm makes the key of a slot hot. It looks at one of looksForHot calls. The key becomes hot
// if the look before found it too, and the place's hot key was not used since.
func (m *smalls) warm(hash uint64, i int) {
	if m.calls++; m.calls%looksForHot != 0 {
		return
	}
	at := &m.slots[i]
	c := m.classes[at.class].of
	if !c.whole || c.more != nil || at.n == isLong {
		return
	}
	place := placeOf(hash)
	k, seen := m.hot.keys[place].Load(), candidate{hash, cooled}
	if k != nil {
		seen.tat = k.tat.Load()
	}
	if m.hot.next[place] != seen {
		m.hot.next[place] = seen
		return
	}
	if k == nil || k.hash != hash || k.class != c || k.n != at.n || k.text != at.text {
		if seen.tat != cooled {
			m.coolOther(k)
		}
		k = &hot{class: c, hash: hash, n: at.n, text: at.text}
	}
	k.tat.Store(at.state.A)
	m.hot.keys[place].Store(k)
	at.state = exact.State{B: isHot, C: int64(place)}
}

// coolOther cools a key that gives its place to another.
func (m *smalls) coolOther(k *hot) {
	other := id{k.class.scope, string(k.text[:k.n])}
	if i := m.find(k.hash, &other, k.class); i >= 0 {
		m.hot.cool(&m.slots[i])
	}
}
