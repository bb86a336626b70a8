package localstore

import (
	"math"
	"slices"
	"sort"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// log is a sliding window: every booking, in order of time.
type log struct {
	rate, period int64
	entries      []taken
	head         int // entries before it are expired
	// written is what the last change left: units, newest entry, and the sum of
	// the marks of all bookings but those taken back, expired ones too.
	written exact.State
}

// mostUnits is the most that a log holds: thousands of times store.MaxUnits,
// booked ahead.
const mostUnits = math.MaxInt64 / 2

// taken is what was taken at an instant. The units are summed up from the start
// of the log, so that what is live or has to expire can be searched for.
type taken struct{ at, sum int64 }

// sum returns the units of the first n entries.
func (g *log) sum(n int) int64 {
	if n == 0 {
		return 0
	}
	return g.entries[n-1].sum
}

// after returns the index of the first entry after an instant, and the units of
// all from there on.
func (g *log) after(at int64) (first int, units int64) {
	n := len(g.entries)
	first = g.head + sort.Search(n-g.head, func(i int) bool { return g.entries[g.head+i].at > at })
	return first, g.sum(n) - g.sum(first)
}

// newest returns the time of the last entry, 0 if there is none.
func (g *log) newest() int64 {
	if n := len(g.entries); n > g.head {
		return g.entries[n-1].at
	}
	return 0
}

// slot is never before the newest entry.
func (g *log) slot(b, cost int64) (floor, slot int64) {
	b = max(b, g.newest())
	first, units := g.after(b - g.period)
	switch {
	case g.sum(len(g.entries)) > mostUnits:
		// Further away than anyone may wait, or the sums would overflow.
		b += store.MaxPeriod.Microseconds()
	case units > g.rate-cost:
		over := g.sum(first) + units - (g.rate - cost)
		i := first + sort.Search(len(g.entries)-first, func(i int) bool { return g.entries[first+i].sum >= over })
		b = g.entries[i].at + g.period
	}
	return b, b
}

func (g *log) book(_, slot, cost, now int64, _ bool) {
	g.expire(now - g.period)
	if n := len(g.entries); n > g.head && g.entries[n-1].at == slot {
		g.entries[n-1].sum += cost
	} else {
		g.entries = append(g.entries, taken{slot, g.sum(n) + cost})
	}
	g.write(mark(slot, cost))
}

// write notes what a change left, and what it added to the marks.
func (g *log) write(mark int64) {
	n := len(g.entries)
	g.written = exact.State{A: g.sum(n) - g.sum(g.head), B: g.newest(), C: g.written.C + mark}
}

// mark is a hash of an instant, as many times as there are units. Sums of marks
// are the same for the same bookings, whatever their order.
func mark(at, units int64) int64 {
	h := uint64(at) * 0x9e3779b97f4a7c15
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return int64(h^h>>32) * units
}

// expire forgets what was taken at or before an instant.
func (g *log) expire(at int64) {
	var units int64
	g.head, units = g.after(at)
	live := len(g.entries) - g.head
	if live > 0 && (g.head <= 16 || g.head < live) && g.sum(len(g.entries)) <= mostUnits/2 {
		return
	}
	g.entries, g.head = g.rest(units), 0
}

// rest returns the entries from the head on, with sums that start anew.
func (g *log) rest(units int64) []taken {
	live := g.entries[g.head:]
	rest := g.entries[:0]
	if cap(g.entries) > 64 && cap(g.entries) > 4*len(live) {
		rest = make([]taken, 0, 2*len(live)) // What a crowd needed is given back.
	}
	gone := g.sum(len(g.entries)) - units
	for _, e := range live {
		rest = append(rest, taken{e.at, e.sum - gone})
	}
	return rest
}

func (g *log) correct(c correction, _ *snapshot) bool {
	if c.slot <= c.now-g.period {
		return false // What is expired of the log is as good as gone.
	}
	g.expire(c.now - g.period)
	var more int64
	if c.to < c.from {
		more = -g.remove(c.slot, c.from-c.to)
	} else {
		more = g.append(c.slot, c.to-c.from)
	}
	g.write(mark(c.slot, more))
	return more != 0
}

// append adds units to what was taken at an instant, if anything was, and
// returns how many.
func (g *log) append(at, units int64) int64 {
	i, _ := g.after(at - 1)
	if i == len(g.entries) || g.entries[i].at != at {
		return 0
	}
	units = min(units, max(exact.MostUnits-(g.sum(len(g.entries))-g.sum(g.head)), 0))
	for j := range g.entries[i:] {
		g.entries[i+j].sum += units
	}
	return units
}

// remove takes units out of what was taken at an instant, and returns how many
// there were.
func (g *log) remove(at, units int64) int64 {
	i, _ := g.after(at - 1)
	if i == len(g.entries) || g.entries[i].at != at {
		return 0
	}
	units = min(units, g.entries[i].sum-g.sum(i))
	for j := range g.entries[i:] {
		g.entries[i+j].sum -= units
	}
	if g.entries[i].sum == g.sum(i) {
		g.entries = slices.Delete(g.entries, i, i+1)
	}
	return units
}

func (g *log) adapted(l *store.Limit, _ int64) counting {
	return &log{rate: l.Rate, period: l.Period.Microseconds(), entries: slices.Clone(g.entries), head: g.head}
}

func (g *log) clamp(now int64, _ bool) {
	if later, units := g.after(now); units > 0 {
		g.entries[later] = taken{now, g.sum(len(g.entries))}
		g.entries = g.entries[:later+1]
		g.write(0)
	}
}

func (g *log) void(now int64, _ func(int64) int64) { g.drop(now) }

// drop forgets what was booked for after an instant.
func (g *log) drop(at int64) {
	if first, units := g.after(at); units > 0 {
		g.entries = g.entries[:first]
		g.write(0)
	}
}

func (g *log) lapse() int64 {
	if at := g.newest(); at > 0 {
		return at + g.period
	}
	return 0
}

func (g *log) report(now int64) exact.Outcome {
	_, units := g.after(now - g.period)
	return exact.Outcome{State: exact.State{A: units, B: g.newest()}}
}

func (g *log) save() snapshot { return snapshot{window: g.written} }

// restore takes only its own out: that is all there was since.
func (g *log) restore(b *snapshot, slot, cost int64) {
	g.remove(slot, cost)
	g.written = b.window
}
