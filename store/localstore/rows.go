package localstore

import (
	"strings"

	"github.com/goweir/weir/internal/exact"
)

// rows holds the states of the further limits of a class's keys, a row for each key, without
// pointers. Keys of one limit have no row.
type rows struct {
	width  int // states in a row
	states []exact.State
	free   []uint32 // rows that are not in use
}

// at returns a row.
func (r *rows) at(i uint32) []exact.State {
	from := int(i) * r.width
	return r.states[from : from+r.width : from+r.width]
}

// take returns the number of a row of unused limits.
func (r *rows) take() uint32 {
	if n := len(r.free); n > 0 {
		i := r.free[n-1]
		r.free = r.free[:n-1]
		clear(r.at(i))
		return i
	}
	i := len(r.states) / r.width
	for range r.width {
		r.states = append(r.states, exact.State{})
	}
	return uint32(i)
}

// texts holds long keys, by their indices.
type texts struct {
	all  []string
	free []uint32 // indices without a key
}

// keep keeps a key and returns its index.
func (t *texts) keep(key string) uint32 {
	key = strings.Clone(key) // The text may be part of a far longer one.
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		t.all[i] = key
		return i
	}
	t.all = append(t.all, key)
	return uint32(len(t.all) - 1)
}

func (t *texts) drop(i uint32) {
	t.all[i] = ""
	t.free = append(t.free, i)
}
