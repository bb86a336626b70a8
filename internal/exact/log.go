package exact

import "sort"

// Log holds the bookings for all sliding windows of a key, in the order of their slots.
// Every entry has the sum of all units up to it, so no step walks the log. Sums wrap
// around: only differences count.
type Log struct {
	Entries []Entry
	First   int64 // entries dropped before Entries[0]
	Base    int64 // their units
}

// Entry is a booking: its slot, in the key's time, and the sum of units up to it.
type Entry struct{ At, Sum int64 }

// end returns the number of entries ever added.
func (g *Log) end() int64 { return g.First + int64(len(g.Entries)) }

// sum returns the units of the first n entries ever added.
func (g *Log) sum(n int64) int64 {
	if n <= g.First {
		return g.Base
	}
	return g.Entries[n-g.First-1].Sum
}

func (g *Log) at(n int64) int64 { return g.Entries[n-g.First].At }

// newest returns the slot of the last entry; 0 if there is none.
func (g *Log) newest() int64 {
	if len(g.Entries) == 0 {
		return 0
	}
	return g.Entries[len(g.Entries)-1].At
}

// search returns the first entry from n on for which f is true. It doubles its steps, as
// most such entries are near n.
func (g *Log) search(n int64, f func(n int64) bool) int64 {
	step := int64(1)
	for n+step <= g.end() && !f(n+step-1) {
		n, step = n+step, step*2
	}
	size := min(step-1, g.end()-n)
	return n + int64(sort.Search(int(size), func(i int) bool { return f(n + int64(i)) }))
}

// expire moves the state on to the first entry that counts at an instant.
func (g *Log) expire(r *Rule, s *State, v int64) {
	n := min(max(s.A, g.First), g.end())
	s.A = g.search(n, func(n int64) bool { return g.at(n)+r.Period > v })
	s.B = g.sum(s.A)
}

// slot returns the first instant from b on at which units fit.
func (g *Log) slot(r *Rule, s *State, b, units int64) int64 {
	b = max(b, g.newest())
	at := *s
	g.expire(r, &at, b)
	free := r.Max - units
	if g.sum(g.end())-at.B <= free {
		return b
	}
	last := g.search(at.A, func(n int64) bool { return g.sum(g.end())-g.sum(n+1) <= free })
	return max(b, g.at(last)+r.Period)
}

// seen returns the live units of a window, or enough to fill it, and the slot of the newest.
// The sum of all units ahead could overflow.
func (g *Log) seen(r *Rule, s *State, v int64) State {
	at := *s
	g.expire(r, &at, v)
	units := int64(0)
	for n := at.A; n < g.end() && units < r.Max; {
		to := min(n+4000, g.end())
		units, n = units+g.sum(to)-g.sum(n), to
	}
	return State{A: units, B: g.newest()}
}

// push adds an entry. It forgets the entries before n once they are most of the log.
func (g *Log) push(at, units, n int64) {
	g.Entries = append(g.Entries, Entry{at, g.sum(g.end()) + units})
	gone := int(n - g.First)
	if gone < len(g.Entries) && gone*2 < len(g.Entries) || gone <= 0 {
		return
	}
	g.Base = g.sum(n)
	rest := g.Entries[:0]
	if left := len(g.Entries) - gone; cap(g.Entries) > 64 && cap(g.Entries) > 4*left {
		rest = make([]Entry, 0, 2*left)
	}
	g.Entries = append(rest, g.Entries[gone:]...)
	g.First = n
}

// correct adds units to the entry of a slot, or takes them away, and returns the difference.
// Last entries without units are removed.
func (g *Log) correct(n, slot, more int64) int64 {
	if n < g.First || n >= g.end() || g.at(n) != slot {
		return 0
	}
	units := g.sum(n+1) - g.sum(n)
	more = corrected(units, more) - units
	for i := n - g.First; i < int64(len(g.Entries)); i++ {
		g.Entries[i].Sum += more
	}
	for g.end() > n && g.sum(g.end()) == g.sum(g.end()-1) {
		g.Entries = g.Entries[:len(g.Entries)-1]
	}
	return more
}
