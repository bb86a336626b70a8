package localstore

import (
	"slices"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

const (
	mostMarks   = 16 // how many groups of slots are told apart
	mergedMarks = 12 // what is left of them when there are too many
)

// ahead is what was booked of each of a key's limits at slots that are still to
// come, for the case that they are made void: what they took of a limit that is
// not full can't be told from its state. It is in marks, in the order of the
// slots; where there are too many, neighbours are made one. It does not change.
type ahead struct {
	limits int
	marks  []int64 // of each: the first slot, the last one, and the units of each limit
}

func (a *ahead) width() int { return 2 + a.limits }

// booked returns what is ahead when a slot was booked behind the others.
func (a *ahead) booked(slot, now int64, charges []weir.Charge, p places) *ahead {
	b := &ahead{limits: p.n}
	w := b.width()
	var marks []int64
	if a != nil {
		marks = a.marks
	}
	if last := len(marks) - w; last >= 0 && marks[last+1] == slot {
		b.marks = slices.Clone(marks)
	} else {
		full := len(marks) == mostMarks*w
		for full && len(marks) > 0 && marks[0] <= now {
			marks = marks[w:]
		}
		b.marks = append(make([]int64, 0, len(marks)+w), marks...)
		if len(marks) == mostMarks*w {
			for len(b.marks) > mergedMarks*w {
				b.merge()
			}
		}
		b.marks = append(append(b.marks, slot, slot), make([]int64, p.n)...)
	}
	last := b.marks[len(b.marks)-p.n:]
	for i := range last {
		last[i] = min(last[i]+charges[p.at(i)].Cost, exact.MostUnits)
	}
	return b
}

// merge makes one of the two neighbours that have the fewest units, of those that
// have as few the later ones.
func (a *ahead) merge() {
	w, at, least := a.width(), 0, int64(-1)
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

// settled returns what is ahead when a booking at slot was given back in part.
func (a *ahead) settled(k *kept, slot int64, cost func(charge int) int64) *ahead {
	if a == nil || a.limits != len(k.limits) {
		return a
	}
	for i := 0; i < len(a.marks); i += a.width() {
		if slot < a.marks[i] || slot > a.marks[i+1] {
			continue
		}
		a = &ahead{a.limits, slices.Clone(a.marks)}
		for j := range k.limits {
			if l := &k.limits[j]; l.cost > 0 {
				u := &a.marks[i+2+j]
				*u = max(*u-max(l.cost-cost(l.charge), 0), 0)
			}
		}
		break
	}
	return a
}

// units returns how many units of a limit are booked at slots after one instant
// and before another, as far as that is known: there may be more.
func (a *ahead) units(limit int, after, before int64) (n int64) {
	if a == nil {
		return 0
	}
	for i := 0; i < len(a.marks); i += a.width() {
		if a.marks[i] > after && a.marks[i+1] < before {
			n += a.marks[i+2+limit]
		}
	}
	return n
}
