package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goweir/weir/weirtest"
)

const (
	tick     = 500 * time.Millisecond // of a row
	barWidth = 46
)

// chart draws calls, in rows of at most 80 columns.
type chart struct {
	w      io.Writer
	colour bool
}

func (c *chart) intro(length time.Duration) {
	fmt.Fprintf(c.w, "A provider allows %d calls per any %v. %d workers with %d callers each call it as\n"+
		"fast as they can for %v, twice. A row is half a second: # is a served call, x a\n"+
		"refused one, + opens a window, [###.......] is how full the window is.\n",
		calls, period, workers, callers, length)
}

func (c *chart) title(s string) { fmt.Fprintf(c.w, "\n%s\n", s) }

// follow draws a row each tick, for length from start on.
func (c *chart) follow(ctx context.Context, p *weirtest.Provider, start time.Time, length time.Duration) {
	var opened time.Time // the present window, which lasts one period
	for at := start; at.Before(start.Add(length)); at = at.Add(tick) {
		select {
		case <-time.After(time.Until(at.Add(tick))):
		case <-ctx.Done():
			if time.Until(start.Add(length)) > 0 {
				return // interrupted
			}
		}
		seen := p.Arrivals()
		row := seen.Between(at, at.Add(tick))
		served, mark := row.Admitted(), "|"
		for _, a := range served {
			if !a.At.Before(opened.Add(period)) {
				opened, mark = a.At, "+"
			}
		}
		inWindow := len(seen.Admitted().Between(at.Add(tick-period), at.Add(tick)))
		fmt.Fprintf(c.w, "%5.1fs %s %s [%s]\n", at.Sub(start).Seconds(), mark, c.bar(len(served), len(row)-len(served)), gauge(inWindow))
	}
}

// bar draws served and refused calls in barWidth columns.
func (c *chart) bar(served, refused int) string {
	served = min(served, barWidth)
	refused = min(refused, barWidth-served)
	s, x := strings.Repeat("#", served), strings.Repeat("x", refused)
	if c.colour {
		s, x = "\x1b[32m"+s+"\x1b[0m", "\x1b[31m"+x+"\x1b[0m"
	}
	return s + x + strings.Repeat(" ", barWidth-served-refused)
}

// gauge draws the used units of a window.
func gauge(used int) string {
	used = min(used, calls)
	return strings.Repeat("#", used) + strings.Repeat(".", calls-used)
}
