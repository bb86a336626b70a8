package localstore

// log is the state of a sliding window: every booking, in order of time.
type log struct {
	entries []taken
	head    int   // entries before it are expired
	units   int64 // of the entries from head on
	newest  int64 // the time of the last entry, 0 if there never was one
}

type taken struct{ at, units int64 }

// expire forgets what was taken at or before an instant.
func (g *log) expire(until int64) {
	for g.head < len(g.entries) && g.entries[g.head].at <= until {
		g.units -= g.entries[g.head].units
		g.head++
	}
	if g.head > 16 && g.head*2 >= len(g.entries) {
		n := copy(g.entries, g.entries[g.head:])
		g.entries, g.head = g.entries[:n], 0
	}
}

// live returns the units that were taken after an instant.
func (g *log) live(after int64) int64 {
	units := g.units
	for i := g.head; i < len(g.entries) && g.entries[i].at <= after; i++ {
		units -= g.entries[i].units
	}
	return units
}

// slot returns the earliest instant from b on, and not before the newest entry,
// at which cost units more make at most rate within a period.
func (g *log) slot(b, cost, rate, period int64) int64 {
	b = max(b, g.newest)
	units := g.units
	for i := g.head; i < len(g.entries); i++ {
		if t := g.entries[i].at + period; t > b {
			if units+cost <= rate {
				break
			}
			b = t
		}
		units -= g.entries[i].units
	}
	return b
}

func (g *log) add(at, units int64) {
	if n := len(g.entries); n > g.head && g.entries[n-1].at == at {
		g.entries[n-1].units += units
	} else {
		g.entries = append(g.entries, taken{at, units})
	}
	g.units += units
	g.newest = at
}

// remove takes units out of what was taken at an instant, and reports whether
// there were any.
func (g *log) remove(at, units int64) (found bool) {
	for i := len(g.entries) - 1; i >= g.head && g.entries[i].at >= at; i-- {
		if e := &g.entries[i]; e.at == at {
			found = true
			units = min(units, e.units)
			e.units -= units
			g.units -= units
			if e.units == 0 {
				g.entries = append(g.entries[:i], g.entries[i+1:]...)
			}
			break
		}
	}
	g.newest = 0
	if n := len(g.entries); n > g.head {
		g.newest = g.entries[n-1].at
	}
	return found
}
