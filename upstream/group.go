package upstream

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// group is the headers of one budget in a family.
type group struct {
	name                         string
	bare, limit, remaining, used []count
	reset                        time.Duration   // -1: unknown
	resets                       []time.Duration // of a list, or of several lines; -1 for unreadable ones
	relative                     bool            // reset comes from a header that needs no clock
	window                       time.Duration
	refused                      bool // its status is "rejected" (Anthropic)
}

// counted reports whether a group tells the units left.
func (g *group) counted() bool { return len(g.remaining) > 0 || len(g.used) > 0 }

// add reads a header of any role but bare.
func (g *group) add(n headerName, values []string, date time.Time) {
	switch n.role {
	case limit:
		if strings.HasPrefix(first(values), "-") { // Tyk: -1 is no limit
			values = []string{"0"}
		}
		g.limit = append(g.limit, parseCounts(values)...)
	case remaining:
		g.remaining = append(g.remaining, parseCounts(values)...)
	case used:
		g.used = append(g.used, parseCounts(values)...)
	case reset:
		g.addReset(n, values, date)
	case window:
		d, _ := within(first(values), n.unit, date)
		g.window = cmp.Or(d, windowNamed(strings.ToLower(first(values))), g.window)
	}
}

// addReset takes the longest reset of several lines. A reset that needs no clock
// wins over one that does.
func (g *group) addReset(n headerName, values []string, date time.Time) {
	if g.reset >= 0 && (g.relative || !n.relative) {
		return
	}
	near, found := time.Duration(math.MaxInt64), time.Duration(-1)
	if n.relative {
		near = 0
	}
	var all []time.Duration
	for _, v := range values[:min(len(values), maxLines)] {
		if d, ok := until(strings.Trim(v, " \t\""), n.unit, near, date); ok {
			found, all = max(found, d), append(all, d)
			continue
		}
		// 50;w=60, or a list with one reset for each count: 60, 60.
		begin := len(all)
		for item := range strings.SplitSeq(v[:min(len(v), maxLineLength)], ",") {
			item, _, _ = strings.Cut(item, ";")
			d, ok := until(strings.TrimSpace(item), n.unit, near, date)
			if !ok {
				d = -1
			}
			if all = append(all, d); len(all) >= maxItems {
				break
			}
		}
		found = max(found, all[begin])
	}
	if found >= 0 {
		g.reset, g.resets, g.relative = found, all, n.relative
	}
}

// budgets returns the budget of a group. Lists of equal length, such as Strava's
// "100,1000" and "25,300", give several.
func (g *group) budgets() []Budget {
	left := g.remaining
	if len(left) == 0 {
		left = g.used
	}
	var all []Budget
	for i := range max(len(left), 1) {
		b := unsaid(g.name)
		b.Reset, b.Window = g.reset, g.window
		if i < len(g.resets) && len(g.resets) == len(left) && g.resets[i] >= 0 {
			b.Reset = g.resets[i]
		}
		j := 0
		if len(left) == len(g.limit) {
			j = i
		}
		if j < len(g.limit) && g.limit[j].n > 0 && (g.counted() || !g.limit[j].rate) { // Amazon: 15.0
			b.Limit = g.limit[j].n
			// Up to draft 02: 10, 10;w=1, 50;w=60
			same := slices.IndexFunc(g.limit, func(l count) bool { return l.n == b.Limit && l.window > 0 })
			b.Window = max(b.Window, g.limit[max(same, j)].window)
		}
		if i < len(left) {
			b = g.countDown(b, left[i])
		}
		if j < len(g.limit) && g.limit[j].n == 0 {
			b = b.of(0)
		}
		if g.refused && b.Reset >= 0 {
			b.Remaining = 0
		}
		if b.Limit >= 0 || b.Remaining >= 0 || b.Reset >= 0 {
			all = append(all, b)
		}
	}
	return all
}

// countDown gives b the units left by c, a count of units left or used.
func (g *group) countDown(b Budget, c count) Budget {
	switch {
	case len(g.remaining) > 0:
		b.Remaining = c.n
	case b.Limit >= 0:
		b.Remaining = max(b.Limit-c.n, 0)
	}
	b.Name = cmp.Or(c.name, b.Name)
	b.Window = max(b.Window, c.window)
	return b
}
