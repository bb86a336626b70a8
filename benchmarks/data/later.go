package data

import (
	"fmt"
	"slices"
	"time"
)

// Later is a later run of some parts.
type Later struct {
	Parts   []string
	Machine Machine
	Command string
	Started time.Time
	Passes  int
}

// String describes the run in a line.
func (l Later) String() string {
	return fmt.Sprintf("weir %s on %s, %d cores, with redis-server %s, %s; `%s`; %d passes",
		l.Machine.Commit, l.Machine.CPU, l.Machine.Cores, l.Machine.Redis, l.Started.Format("2006-01-02 15:04 MST"), l.Command, l.Passes)
}

// Replace replaces parts of the results with a later run's. New contenders follow their
// neighbours in the later run's list.
func (r *Results) Replace(parts []string, by *Results) {
	replaced := func(part string) bool { return slices.Contains(parts, part) }
	r.Series = append(slices.DeleteFunc(r.Series, func(s *Series) bool { return replaced(s.Part) }), by.Series...)
	r.Failures = append(slices.DeleteFunc(r.Failures, func(f Failure) bool { return replaced(f.Part) }), by.Failures...)
	r.index = nil
	next := 0
	for _, c := range by.Contenders {
		i := slices.IndexFunc(r.Contenders, func(old Info) bool { return old.Name == c.Name })
		if i < 0 {
			i = next
			r.Contenders = slices.Insert(r.Contenders, i, c)
		}
		next = i + 1
	}
	for i := range r.Later {
		r.Later[i].Parts = slices.DeleteFunc(r.Later[i].Parts, replaced)
	}
	r.Later = slices.DeleteFunc(r.Later, func(l Later) bool { return len(l.Parts) == 0 })
	r.Later = append(r.Later, Later{parts, by.Machine, by.Command, by.Started, by.Passes})
}
