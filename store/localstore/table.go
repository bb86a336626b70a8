package localstore

import (
	"hash/maphash"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// table holds the small keys of a shard: keys with only the states of their limits. Most keys
// are small most of the time. The table is a hash table with open addressing and linear
// probing. It has no pointers, so the garbage collector does not look into it.
type table struct {
	tags    []uint8 // one for each slot; 0: the slot is empty
	slots   []small
	classes []members
	count   int
	hand    int   // where the search for lapsed keys goes on
	long    texts // keys too long for a slot
}

// members are the keys of a class.
type members struct {
	of   *class
	keys int // their number
	rows rows
}

// maxClasses is the maximum number of classes of a shard's small keys. It is small, as each
// new key searches all classes.
const maxClasses = 32

// Parts of a hash: bits 0 to 5 choose the shard, 6 to 12 are the tag, 14 to 19 the
// place of a hot key, and 32 to 63 the home of a slot.
func tagOf(h uint64) uint8         { return uint8(h>>6) | 0x80 }
func (t *table) home(h uint64) int { return int(h >> 32 * uint64(len(t.tags)) >> 32) }

func (t *table) hash(at *small) uint64 {
	scope := t.classes[at.class].of.scope
	if at.n == isLong {
		return hash(maphash.String(seed, t.long.all[at.long()]), scope)
	}
	return hash(maphash.Bytes(seed, at.text[:at.n]), scope)
}

// find returns the slot of a key, or -1. with is the key's class, if known: it saves a
// comparison.
func (t *table) find(h uint64, k *id, with *class) int {
	if len(t.tags) == 0 {
		return -1
	}
	tag := tagOf(h)
	for i := t.home(h); ; {
		switch t.tags[i] {
		case 0:
			return -1
		case tag:
			if at := &t.slots[i]; t.has(at, k.key) {
				if c := t.classes[at.class].of; c == with || c.scope == k.scope {
					return i
				}
			}
		}
		if i++; i == len(t.tags) {
			i = 0
		}
	}
}

// has reports whether a slot has a key, in any scope.
func (t *table) has(at *small, key string) bool {
	if at.n == isLong {
		return t.long.all[at.long()] == key
	}
	return string(at.text[:at.n]) == key
}

// add makes a slot for a new key. c is the index of its class.
func (t *table) add(h uint64, k *id, c int) int {
	if n := len(t.tags); (t.count+1)*8 > n*7 {
		t.resize(n + max(n/4, 8))
	}
	i := t.claim(h)
	at := &t.slots[i]
	*at = small{class: uint16(c)}
	m := &t.classes[c]
	room := len(at.text)
	if m.rows.width > 0 {
		room -= rowLen
		at.setRow(m.rows.take())
	}
	if len(k.key) <= room {
		at.n = uint8(copy(at.text[:], k.key))
	} else {
		at.n = isLong
		at.setLong(t.long.keep(k.key))
	}
	m.keys++
	t.count++
	return i
}

// claim takes the first empty slot for a hash.
func (t *table) claim(h uint64) int {
	i := t.home(h)
	for t.tags[i] != 0 {
		if i++; i == len(t.tags) {
			i = 0
		}
	}
	t.tags[i] = tagOf(h)
	return i
}

// class returns the index of the class of the charges' limits. It adds a new class. It
// returns -1 if there are too many, or if two limits count the same. with is the class, if
// known.
func (t *table) class(scope string, charges []store.Charge, with *class) int {
	index := -1
	for i := range t.classes {
		m := &t.classes[i]
		if m.of == with || m.of.scope == scope && m.of.is(charges) {
			return i
		}
		if m.keys == 0 {
			index = i
		}
	}
	if index < 0 && len(t.classes) == maxClasses {
		return -1
	}
	if with == nil {
		with = newClass(scope, charges)
	}
	if with.twins() {
		return -1
	}
	if index < 0 {
		t.classes = append(t.classes, members{})
		index = len(t.classes) - 1
	}
	t.classes[index] = members{of: with, rows: rows{width: len(with.more)}}
	return index
}

// remove empties a slot, and moves later slots of its run back.
func (t *table) remove(i int) {
	at := &t.slots[i]
	if at.n == isLong {
		t.long.drop(at.long())
	}
	m := &t.classes[at.class]
	if m.rows.width > 0 {
		m.rows.free = append(m.rows.free, at.row())
	}
	m.keys--
	t.count--
	n := len(t.tags)
	for j := i; ; {
		if j++; j == n {
			j = 0
		}
		if t.tags[j] == 0 {
			break
		}
		// No slot between its home and j may be empty.
		if home := t.home(t.hash(&t.slots[j])); (j-home+n)%n < (j-i+n)%n {
			continue
		}
		t.slots[i], t.tags[i] = t.slots[j], t.tags[j]
		i = j
	}
	t.tags[i] = 0
	if n > 64 && t.count < n/8 {
		t.resize(2 * t.count) // A crowd of keys is gone.
	}
}

// resize makes room for n slots.
func (t *table) resize(n int) {
	old := *t
	t.tags, t.slots, t.hand = make([]uint8, n), make([]small, n), 0
	for i := range old.tags {
		if old.tags[i] != 0 {
			at := &old.slots[i]
			t.slots[t.claim(t.hash(at))] = *at
		}
	}
	if len(t.long.all) == len(t.long.free) {
		t.long = texts{}
	}
	t.pack()
}

// further returns the states of the further limits of a slot's key.
func (m *members) further(at *small) []exact.State {
	if m.rows.width == 0 {
		return nil
	}
	return m.rows.at(at.row())
}

// pack moves the used rows together, into the slots of a new table.
func (t *table) pack() {
	var old [maxClasses]rows
	for i := range t.classes {
		m := &t.classes[i]
		old[i] = m.rows
		if len(m.rows.free) > 0 {
			m.rows = rows{width: m.rows.width}
		}
	}
	for i := range t.slots {
		at := &t.slots[i]
		if t.tags[i] == 0 || len(old[at.class].free) == 0 {
			continue
		}
		states := old[at.class].at(at.row())
		at.setRow(t.classes[at.class].rows.take())
		copy(t.classes[at.class].further(at), states)
	}
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
