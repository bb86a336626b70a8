package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
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
