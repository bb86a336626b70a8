package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore"
)

// narrow is the width below which a table leaves out columns, so that keys are seen.
const narrow = 60

// table adds a line for each key, cut off at a width; 0: no cut. All texts are printable
// ASCII.
func (p *page) table(keys []inspect.Key, width int) {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(used, units, limit, waiting, next, note, key string) {
		cells := []string{used, units, limit, waiting, next, note, key}
		if width > 0 && width < narrow {
			cells = []string{used, next, key, note}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	row("USED", "UNITS", "LIMIT", "WAITING", "NEXT", "NOTE", "KEY")
	for i := range keys {
		k := &keys[i]
		used, units, limit := "-", "-", "-"
		if l := k.Busiest(); l != nil {
			used, units, limit = fmt.Sprintf("%3.0f%%", 100*l.Share()), fmt.Sprintf("%d/%d", l.Used, l.Max()), rate(&l.Limit)
			if more := len(k.Limits) - 1; more > 0 {
				limit += fmt.Sprintf(" +%d", more)
			}
		}
		row(used, units, limit, waiting(k), next(k), note(k), k.Text())
	}
	// A bytes.Buffer never fails.
	_ = w.Flush()
	for line := range strings.Lines(b.String()) {
		line = strings.TrimRight(line, "\n ")
		if width > 0 && len(line) > width {
			line = line[:width-1] + ">"
		}
		p.line("%s", line)
	}
}

// rate is a limit without its algorithm, as 25/5s.
func rate(l *store.Limit) string {
	text, _, _ := strings.Cut(inspect.Describe(l), " ")
	return text
}

func waiting(k *inspect.Key) string {
	switch a := k.Ahead; {
	case a.Calls == 0:
		return "-"
	case a.Calls < 0:
		return "? " + inspect.Short(a.Last)
	default:
		return fmt.Sprintf("%d %s", a.Calls, inspect.Short(a.Last))
	}
}

func next(k *inspect.Key) string {
	switch {
	case k.Err != nil:
		return "error"
	case k.Next.Allowed:
		return "now"
	}
	return inspect.Short(k.Next.RetryAfter)
}

// note lists the unusual properties of a key.
func note(k *inspect.Key) string {
	var list []string
	add := func(on bool, format string, args ...any) {
		if on {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	foreign, version := errors.Is(k.Err, redisstore.ErrState), errors.Is(k.Err, redisstore.ErrVersion)
	add(foreign && !version, "not weir's")
	add(version, "another version")
	add(k.Err != nil && !foreign, "can't be read")
	add(k.Brake.Pause > 0, "paused %s", inspect.Short(k.Brake.Pause))
	add(k.Brake.Slow(), "rate %d/64", k.Brake.Rate)
	add(k.InFlight > 0, "%d in flight", k.InFlight)
	add(k.NoTTL, "no TTL")
	add(k.Behind > 0, "clock behind")
	if list == nil {
		return "-"
	}
	return strings.Join(list, ", ")
}
