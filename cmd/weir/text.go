package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/store/redisstore"
)

// page is output for persons. One write prints all.
type page struct{ bytes.Buffer }

// line adds a line, harmless for a terminal.
func (p *page) line(format string, args ...any) {
	fmt.Fprintln(p, printable(fmt.Sprintf(format, args...)))
}

// printable makes a line harmless for a terminal. Texts of a server and of a log may hold
// control characters, which move the cursor or worse, and marks that turn text around.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, line)
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprint(n, " ", noun, "s")
}

// completion returns a key as a completion of a text, or false if it is none. A shell
// expands completions: all but a few characters behind the text stand as %XX, which
// [rediskey.ParseText] reads.
func completion(key, start string) (text string, ok bool) {
	rest, ok := strings.CutPrefix(key, start)
	if !ok || strings.ContainsFunc(start, special) {
		return "", false
	}
	var b strings.Builder
	b.WriteString(start)
	for _, r := range rest { // ASCII
		if special(r) {
			fmt.Fprintf(&b, "%%%02X", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String(), true
}

// special reports whether a character may mean something to a shell.
func special(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(":._-/@+,%", r)
}

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
			used, units = fmt.Sprintf("%3.0f%%", 100*l.Share()), fmt.Sprintf("%d/%d", l.Used, l.Max())
			limit, _, _ = strings.Cut(inspect.Describe(&l.Limit), " ") // without the algorithm
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

func waiting(k *inspect.Key) string {
	switch a := k.Ahead; {
	case a.Calls == 0:
		return "-"
	case a.Calls < 0:
		return "? " + a.Last.String()
	default:
		return fmt.Sprintf("%d %s", a.Calls, a.Last)
	}
}

func next(k *inspect.Key) string {
	switch {
	case k.Err != nil:
		return "error"
	case k.Next.Allowed:
		return "now"
	}
	return k.Next.RetryAfter.String()
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
	add(k.Brake.Pause > 0, "paused %s", k.Brake.Pause)
	add(k.Brake.Slow(), "rate %d/64", k.Brake.Rate)
	add(k.InFlight > 0, "%d in flight", k.InFlight)
	add(k.Partial, "long log")
	add(k.NoTTL, "no TTL")
	add(k.Behind > 0, "clock behind")
	if list == nil {
		return "-"
	}
	return strings.Join(list, ", ")
}

// progress says on a terminal how far long work is.
type progress struct {
	out   io.Writer
	on    bool
	begun time.Time
	shown bool
}

func newProgress(out io.Writer) *progress {
	return &progress{out: out, on: isTerminal(out), begun: time.Now()}
}

// show writes a line over the last one, once the work takes a second.
func (p *progress) show(format string, args ...any) {
	if p.on && time.Since(p.begun) > time.Second {
		p.shown = true
		fmt.Fprintf(p.out, "\r\x1b[K"+format, args...)
	}
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
