package simulate

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestLines(t *testing.T) {
	t.Parallel()
	const combined = `192.0.2.1 - ann b [10/Oct/2000:13:55:36 -0700] "GET /a?q=1 HTTP/1.1" 200 23 "http://e.example/\"x\"" "curl/8"`
	at := time.Date(2000, 10, 10, 20, 55, 36, 0, time.UTC)
	for _, test := range []struct {
		name, line, field, key string
		micros                 int64 // beyond the second
		whole                  bool
		err                    string
	}{
		{"address", combined, "remote_addr", "192.0.2.1", 0, true, ""},
		{"user with a space", combined, "remote_user", "ann b", 0, true, ""},
		{"path without its query", combined, "path", "/a", 0, true, ""},
		{"method", combined, "method", "GET", 0, true, ""},
		{"status", combined, "status", "200", 0, true, ""},
		{"referer with quotes", combined, "referer", `http://e.example/\"x\"`, 0, true, ""},
		{"agent", combined, "user_agent", "curl/8", 0, true, ""},
		{"no agent in the common format", `h - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 23`, "user_agent", "", 0, false, `no field "user_agent"`},
		{"common format, all together", `h - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 23`, "", "", 0, true, ""},
		{"a wrong time", `h - - [yesterday] "GET / HTTP/1.0" 200 23`, "", "", 0, false, "time"},
		{"no line of a log", `hello`, "", "", 0, false, "neither"},
		{"an empty line", "", "", "", 0, false, "neither"},
		{"JSON, RFC 3339", `{"time":"2000-10-10T20:55:36.25Z","user":"ann"}`, "user", "ann", 250_000, false, ""},
		{"JSON, whole seconds", `{"time":"2000-10-10T20:55:36Z","user":7}`, "user", "7", 0, true, ""},
		{"JSON, a number of seconds", `{"ts":971211336.5}`, "", "", 500_000, false, ""},
		{"JSON, milliseconds", `{"ts":971211336500}`, "", "", 500_000, false, ""},
		{"JSON, a number as text", `{"msec":"971211336.125"}`, "", "", 125_000, false, ""},
		{"JSON, a field within", `{"ts":971211336,"request":{"remote_ip":"::1"}}`, "request.remote_ip", "::1", 0, true, ""},
		{"JSON, a field with a dot", `{"ts":971211336,"a.b":"c"}`, "a.b", "c", 0, true, ""},
		{"JSON without the field", `{"ts":971211336}`, "user", "", 0, false, `no field "user"`},
		{"JSON without a time", `{"user":"ann"}`, "user", "", 0, false, "no time"},
		{"broken JSON", `{"user":`, "user", "", 0, false, "neither"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, whole, key, err := parseLine([]byte(test.line+"\r\n"), test.field)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %s", err, test.err)
				}
				return
			}
			if err != nil || key != test.key || whole != test.whole || got.UnixMicro() != at.UnixMicro()+test.micros {
				t.Errorf("%v %v %q, %v", got, whole, key, err)
			}
		})
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	line := func(second string) string {
		return "h - - [10/Oct/2000:13:55:" + second + ` +0000] "GET / HTTP/1.0" 200 1` + "\n"
	}
	log := line("10") + line("10") + "nonsense\n" + line("12") + line("11") + strings.Repeat("x", 200_000) + "\n" + `{"time":"1969-01-01T00:00:00Z"}` + "\n" + line("12") + line("12")
	l := Log{R: strings.NewReader(strings.TrimSuffix(log, "\n"))}
	var got []int64
	for a := range l.Arrivals() {
		got = append(got, a.At%60e6/1000)
	}
	if want := []int64{10000, 10500, 12000, 12250, 12500, 12750}; !slices.Equal(got, want) {
		t.Errorf("calls at %v, want %v", got, want)
	}
	if l.Lines != 9 || l.Bad != 3 || l.Moved != 1 || l.Err != nil || !strings.HasPrefix(l.FirstBad, "line 3: ") {
		t.Errorf("%+v", l)
	}
	if span := l.End - l.Start; span != 2_750_000 {
		t.Errorf("a span of %d µs", span)
	}
}

func TestLogOutOfOrder(t *testing.T) {
	t.Parallel()
	l := Log{R: strings.NewReader(`{"ts":5.5}` + "\n" + `{"ts":5.25}` + "\n" + `{"ts":6.5}` + "\n")}
	var got []int64
	for a := range l.Arrivals() {
		got = append(got, a.At)
	}
	if want := []int64{5.5e6, 5.5e6, 6.5e6}; !slices.Equal(got, want) || l.Moved != 1 {
		t.Errorf("calls at %v, want %v; %d moved", got, want, l.Moved)
	}
}

// TestLogOfCenturies: a span of times fits a time.Duration, or else a line is left out.
func TestLogOfCenturies(t *testing.T) {
	t.Parallel()
	l := Log{R: strings.NewReader(`{"time":"1970-01-01T00:00:01.5Z"}` + "\n" + `{"time":"2261-12-31T23:59:59Z"}` + "\n" + `{"time":"2262-01-01T00:00:00Z"}` + "\n" + `{"time":"9999-12-31T23:59:59Z"}`)}
	n := 0
	for range l.Arrivals() {
		n++
	}
	if n != 2 || l.Bad != 2 || l.FirstBad != "line 3: a time before 1970 or after 2261" || time.Duration(l.End-l.Start)*time.Microsecond < 0 {
		t.Errorf("%d calls: %+v", n, l)
	}
}

func TestLogEndsEarly(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	l := Log{R: io.MultiReader(strings.NewReader(`{"ts":5.5}`+"\n"), iotest.ErrReader(broken))}
	n := 0
	for range l.Arrivals() {
		n++
	}
	if n != 1 || !errors.Is(l.Err, broken) {
		t.Errorf("%d calls, error %v", n, l.Err)
	}
	l = Log{R: strings.NewReader(strings.Repeat(`{"ts":5}`+"\n", 9))}
	for range l.Arrivals() {
		break
	}
}

// TestLogBounded reads more lines of one second than the log keeps.
func TestLogBounded(t *testing.T) {
	t.Parallel()
	l := Log{R: strings.NewReader(strings.Repeat(`{"ts":5}`+"\n", maxPending+2))}
	n, last := 0, int64(0)
	for a := range l.Arrivals() {
		if n++; a.At < last || a.At >= 6e6 {
			t.Fatalf("call %d at %d after %d", n, a.At, last)
		}
		last = a.At
	}
	if n != maxPending+2 || len(l.pending) > maxPending {
		t.Errorf("%d calls", n)
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(`h - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 23`), "path")
	f.Add([]byte(`{"ts":1e300,"a":{"b":1}}`), "a.b")
	f.Fuzz(func(t *testing.T, line []byte, field string) {
		if at, _, _, err := parseLine(line, field); err == nil && field != "" && at.IsZero() {
			t.Error("no time and no error")
		}
	})
}
