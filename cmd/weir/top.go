package main

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/goweir/weir/internal/inspect"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

const (
	clock       = "15:04:05 MST"
	minInterval = 100 * time.Millisecond
	// The terminal's second screen without a cursor, and back again.
	enterScreen, leaveScreen = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
	home, clearLine, clearUp = "\x1b[H", "\x1b[K", "\x1b[J"
)

func newTop() *cobra.Command {
	var l listing
	var interval time.Duration
	c := &cobra.Command{
		Use: "top", Short: "Watch the keys that are used most", Long: "Watches the keys that are used most, also while Redis goes away and comes back.\nCtrl-C ends it.\n" + listHelp,
		Example: "  weir top\n  weir top --sort queue --limiter stripe",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := l.check(); err != nil {
				return err
			}
			if interval < minInterval {
				return &exit{exitUsage, errFlag("interval", interval.String(), "100ms or more")}
			}
			return l.with(func(s *session) error { return l.watch(cmd, s, interval) })
		},
	}
	l.flags(c, "use")
	_ = c.Flags().MarkHidden("json")
	c.Flags().DurationVar(&interval, "interval", 2*time.Second, "time between looks")
	return c
}

// isTerminal reports whether a person sees the output, on a screen that knows the cursor.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// watch draws until the context ends. Without Redis it draws the last keys, but it fails if
// there are none yet.
func (l *listing) watch(cmd *cobra.Command, s *session, interval time.Duration) (err error) {
	out, ok := cmd.OutOrStdout().(*os.File)
	if !ok || !isTerminal(out) || l.json {
		return &exit{exitUsage, errors.New("top draws on a terminal: use weir keys elsewhere, and for --json")}
	}
	if _, err := io.WriteString(out, enterScreen); err != nil {
		return err
	}
	defer func() {
		if _, failed := io.WriteString(out, leaveScreen); err == nil {
			err = failed
		}
	}()
	tick := time.Tick(interval)
	var last inspect.Listing
	var away time.Time // when the first reading failed; zero: the last one did not
	show := func(status string) error {
		width, height := size(out)
		_, err := out.WriteString(l.frame(s.Prefix(), last, status, interval, width, height))
		return err
	}
	for first := true; ; first = false {
		found, missing := l.read(cmd, s)
		switch status := printable(message(missing)); {
		case cmd.Context().Err() != nil:
			return nil // Ctrl-C ends it.
		case missing == nil || len(found.Keys) > 0:
			last, away = found, time.Time{}
			err = show(status)
		case first:
			return missing
		default:
			away = cmp.Or(away, time.Now())
			err = show("Redis is away since " + away.UTC().Format(clock) + ": " + status)
		}
		if err != nil {
			return err
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-tick:
		}
	}
}

// size returns the columns and lines of a terminal. Some terminals do not know them.
func size(out *os.File) (width, height int) {
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil || width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

// small is the number of lines below which a screen has no empty line.
const small = 8

// frame draws on a screen, below a status line if there is one. As many keys stand on it as
// leave room for the other lines.
func (l *listing) frame(prefix string, found inspect.Listing, status string, interval time.Duration, width, height int) string {
	var p page
	if status != "" {
		p.line("%s", status)
	}
	room := height - 3 - int(one(status != "")+one(height >= small)+one(found.Cut))
	rows := len(found.Keys)
	if rows > room {
		rows = min(rows, max(room-1, 1)) // The last line says how many more there are.
	}
	l.draw(&p, prefix, found, rows, width, interval)
	text := p.String()
	if height < small {
		text = strings.Replace(text, "\n\n", "\n", 1)
	}
	return screen(text, width, height)
}

// draw adds a head of two lines about all keys, and a table of the first ones.
func (l *listing) draw(p *page, prefix string, found inspect.Listing, rows, width int, interval time.Duration) {
	var paused, slow, refusing, waiting, flights int64
	for i := range found.Keys {
		k := &found.Keys[i]
		paused += one(k.Brake.Pause > 0)
		slow += one(k.Brake.Slow())
		refusing += one(!k.Next.Allowed && k.Err == nil)
		waiting += max(k.Ahead.Calls, one(k.Ahead.Calls < 0))
		flights += k.InFlight
	}
	at := "-"
	if !found.At.IsZero() {
		at = found.At.UTC().Format(clock)
	}
	p.line("weir top  %s*  %s by %s  %s  every %s", prefix, plural(len(found.Keys), "key"), l.sort, at, interval)
	p.line("%d refuse  %d paused  %d slower  %d calls wait  %d in flight", refusing, paused, slow, waiting, flights)
	p.line("")
	p.table(found.Keys[:rows], width)
	if n := len(found.Keys) - rows; n > 0 {
		p.line("%d more", n)
	}
	p.cut(found.Cut)
}

func one(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

// screen makes lines overwrite those of the frame before. It cuts off what does not fit. It
// clears a line before it writes it: behind a full line, the cursor stays in the last column.
func screen(frame string, width, height int) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimSuffix(frame, "\n"), "\n")
	lines = lines[:min(len(lines), height)]
	b.WriteString(home)
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if i == len(lines)-1 {
			b.WriteString(clearUp)
		} else {
			b.WriteString(clearLine)
		}
		b.WriteString(strings.ToValidUTF8(line[:min(len(line), width)], "")) // No character has more columns than bytes.
	}
	return b.String()
}
