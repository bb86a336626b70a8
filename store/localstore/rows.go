package localstore

import (
	"encoding/binary"

	"github.com/goweir/weir/internal/exact"
)

// rows hold the states of the further limits of a class's keys, one row for each
// key, without pointers. Those of one limit have none.
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

// take returns the number of a row of limits that were never used.
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

// rowLen is how much of a slot's text the number of a row takes, at its end.
const rowLen = 4

func (at *small) row() uint32 { return binary.LittleEndian.Uint32(at.text[len(at.text)-rowLen:]) }

func (at *small) setRow(i uint32) { binary.LittleEndian.PutUint32(at.text[len(at.text)-rowLen:], i) }

// further returns the states of the further limits of a slot's key.
func (m *members) further(at *small) []exact.State {
	if m.rows.width == 0 {
		return nil
	}
	return m.rows.at(at.row())
}

// pack moves the rows that are in use together, in a new table with the slots of
// the old.
func (t *table) pack() {
	var old [mostClasses]rows
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
