package localstore

import (
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

const (
	mostMarks   = 16 // how many groups of slots are told apart
	mergedMarks = 12 // what is left of them when there are too many
)

// ahead is what was booked of each of a key's limits at slots that are still to
// come, for the case that they are made void or given back: what they took of a
// limit that is not full, and where those stand who are left, can't be told from
// its state. It is in marks, in the order of the slots; where there are too many,
// neighbours are made one. Nil: nothing was.
type ahead struct {
	from  int64   // of slots up to then it does not tell
	left  int64   // how often some of it was given back by others than the last to book
	width int     // the numbers of a mark
	marks []int64 // of each: the first slot, the last one, and the units of each limit
}

// book notes that a slot was booked at the end of a line.
func (a *ahead) book(of line, slot, now int64, charges []store.Charge, p places) {
	if len(a.marks) == 0 {
		a.from, a.width = max(of.last, now), 2+p.n
	}
	w := a.width
	if last := len(a.marks) - w; last < 0 || a.marks[last+1] != slot {
		if len(a.marks) == mostMarks*w {
			a.makeRoom(now)
		}
		a.marks = append(a.marks, slot, slot)
		for range p.n {
			a.marks = append(a.marks, 0)
		}
	}
	units := a.marks[len(a.marks)-p.n:]
	for i := range units {
		units[i] = min(units[i]+charges[p.at(i)].Cost, exact.MostUnits)
	}
}

// makeRoom forgets the marks that are past, or makes some of them one.
func (a *ahead) makeRoom(now int64) {
	past := 0
	for past < len(a.marks) && a.marks[past+1] <= now {
		past += a.width
	}
	if a.marks = slices.Delete(a.marks, 0, past); past > 0 {
		return
	}
	for len(a.marks) > mergedMarks*a.width {
		a.merge()
	}
}

// merge makes one of the two neighbours that have the fewest units, of those that
// have as few the later ones.
func (a *ahead) merge() {
	w, at, least := a.width, 0, int64(-1)
	sum := func(at int) (n int64) {
		for _, u := range a.marks[at+2 : at+w] {
			n += u
		}
		return n
	}
	for i := 0; i+w < len(a.marks); i += w {
		if n := sum(i) + sum(i+w); least < 0 || n <= least {
			at, least = i, n
		}
	}
	a.marks[at+1] = a.marks[at+w+1]
	for i := 2; i < w; i++ {
		a.marks[at+i] = min(a.marks[at+i]+a.marks[at+w+i], exact.MostUnits)
	}
	a.marks = slices.Delete(a.marks, at+w, at+2*w)
}

// settle notes that a booking at slot was given back in part, and returns where
// the line ends when that has left nothing at its end.
func (a *ahead) settle(k *kept, slot int64, alone bool, cost func(charge int) int64) (last int64, shorter bool) {
	if a == nil || len(a.marks) == 0 || a.from != k.from {
		return 0, false
	}
	at := 0
	for at < len(a.marks) && slot > a.marks[at+1] {
		at += a.width
	}
	if at == len(a.marks) || slot < a.marks[at] {
		return 0, false
	}
	less := false
	for j := range k.limits {
		c, u := &k.limits[j], &a.marks[at+2+j]
		if back := c.cost - cost(c.charge); c.cost > 0 && back > 0 && *u < exact.MostUnits {
			less = less || *u > 0
			*u = max(*u-back, 0)
		}
	}
	if !less {
		return 0, false
	}
	if !alone {
		a.left++
	}
	end := len(a.marks)
	for end > 0 && !slices.ContainsFunc(a.marks[end-a.width+2:end], func(u int64) bool { return u > 0 }) {
		end -= a.width
	}
	shorter = end < len(a.marks)
	a.marks = a.marks[:end]
	if end == 0 {
		return a.from, shorter
	}
	return a.marks[end-a.width+1], shorter
}

// version tells it from that of another line, by from, and what it is from what it was.
func (a *ahead) version() (from, left int64) {
	if a == nil {
		return 0, 0
	}
	return a.from, a.left
}

// forget is for when the line is another.
func (a *ahead) forget() {
	if a != nil {
		a.marks = a.marks[:0]
	}
}

// units returns how many units of a limit are booked at slots after one instant
// and before another, as far as that is known: there may be more.
func (a *ahead) units(limit int, after, before int64) (n int64) {
	if a == nil {
		return 0
	}
	for i := 0; i < len(a.marks); i += a.width {
		if a.marks[i] > after && a.marks[i+1] < before {
			n += a.marks[i+2+limit]
		}
	}
	return n
}
