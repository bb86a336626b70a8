package localstore

import (
	"encoding/binary"
	"hash/maphash"
	"strings"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// table holds the small keys of a shard: those of which there is no more to know
// than the states of their limits, which is most of them, most of the time. It is a
// hash table with open addressing and linear probing, and without pointers, so
// that the garbage collector has nothing to look at.
type table struct {
	tags    []uint8 // one for each slot; 0: it is empty
	slots   []small
	classes []members
	count   int
	hand    int      // where the search for lapsed keys goes on
	long    []string // the keys that are too long for a slot
	free    []uint32 // places of it that are not in use
}

// members are the keys of a class.
type members struct {
	of   *class
	keys int // how many there are
	rows rows
}

// small is a key and its state, in a cache line. Under several limits it is that of
// the first, and the text ends in the number of a row with the others.
type small struct {
	state exact.State
	class uint16 // its place in the table's
	n     uint8  // how long the key is; isLong: it is elsewhere, the text says where
	text  [37]byte
}

const isLong = 255

// Where in a hash each of its uses has its bits: the shard has the lowest.
func tagOf(h uint64) uint8         { return uint8(h>>6) | 0x80 }
func (t *table) home(h uint64) int { return int(h >> 32 * uint64(len(t.tags)) >> 32) }

func hash(seed maphash.Seed, key uint64, scope string) uint64 {
	if scope != "" {
		key ^= maphash.String(seed, scope) * 3
	}
	return key
}

func (t *table) hash(seed maphash.Seed, at *small) uint64 {
	scope := t.classes[at.class].of.scope
	if at.n == isLong {
		return hash(seed, maphash.String(seed, t.long[at.place()]), scope)
	}
	return hash(seed, maphash.Bytes(seed, at.text[:at.n]), scope)
}

func (at *small) place() uint32 { return binary.LittleEndian.Uint32(at.text[:]) }

// find returns the slot of a key, or -1. with is the key's class, if there is an
// idea of it, which spares the search a comparison.
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

// has reports whether a slot's key is that of a text, in whatever scope.
func (t *table) has(at *small, key string) bool {
	if at.n == isLong {
		return t.long[at.place()] == key
	}
	return string(at.text[:at.n]) == key
}

// add makes a slot for a key that has none. c is the place of its class.
func (t *table) add(seed maphash.Seed, h uint64, k *id, c int) int {
	if n := len(t.tags); (t.count+1)*8 > n*7 {
		t.resize(seed, n+max(n/4, 8))
	}
	i := t.place(h)
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
		binary.LittleEndian.PutUint32(at.text[:], t.keep(k.key))
	}
	m.keys++
	t.count++
	return i
}

// place takes the first empty slot for a hash.
func (t *table) place(h uint64) int {
	i := t.home(h)
	for t.tags[i] != 0 {
		if i++; i == len(t.tags) {
			i = 0
		}
	}
	t.tags[i] = tagOf(h)
	return i
}

// class returns the place of the class of a limit and of those of further charges,
// which it makes if there is none, or -1 when there are too many, or when two limits
// are the same. with is the class, if there is an idea of it.
func (t *table) class(scope string, l *store.Limit, more []store.Charge, with *class) int {
	place := -1
	for i := range t.classes {
		m := &t.classes[i]
		if m.of == with || m.of.scope == scope && m.of.is(l, more) {
			return i
		}
		if m.keys == 0 {
			place = i
		}
	}
	if place < 0 && len(t.classes) == mostClasses {
		return -1
	}
	if with == nil {
		with = newClass(scope, l, more)
	}
	if with.twins() {
		return -1
	}
	if place < 0 {
		t.classes = append(t.classes, members{})
		place = len(t.classes) - 1
	}
	t.classes[place] = members{of: with, rows: rows{width: len(with.more)}}
	return place
}

// keep keeps a long key and returns where.
func (t *table) keep(key string) uint32 {
	key = strings.Clone(key) // It may be part of something far longer.
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		t.long[i] = key
		return i
	}
	t.long = append(t.long, key)
	return uint32(len(t.long) - 1)
}

// remove empties a slot, and moves those back that went past it.
func (t *table) remove(seed maphash.Seed, i int) {
	at := &t.slots[i]
	if at.n == isLong {
		t.long[at.place()] = ""
		t.free = append(t.free, at.place())
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
		// Between its home and j nothing may be empty.
		if home := t.home(t.hash(seed, &t.slots[j])); (j-home+n)%n < (j-i+n)%n {
			continue
		}
		t.slots[i], t.tags[i] = t.slots[j], t.tags[j]
		i = j
	}
	t.tags[i] = 0
	if n > 64 && t.count < n/8 {
		t.resize(seed, 2*t.count) // What a crowd of keys took is given back.
	}
}

// resize makes room for n slots.
func (t *table) resize(seed maphash.Seed, n int) {
	old := *t
	t.tags, t.slots, t.hand = make([]uint8, n), make([]small, n), 0
	for i := range old.tags {
		if old.tags[i] != 0 {
			at := &old.slots[i]
			t.slots[t.place(t.hash(seed, at))] = *at
		}
	}
	if len(t.long) == len(t.free) {
		t.long, t.free = nil, nil
	}
	t.pack()
}
