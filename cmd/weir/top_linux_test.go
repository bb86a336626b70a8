package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/internal/redistest"
)

// terminal opens a pseudo terminal of 80 columns and 24 lines: its two ends.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals: ", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	control := func(request uintptr, argument unsafe.Pointer) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), request, uintptr(argument)); errno != 0 {
			t.Fatal(errno)
		}
	}
	var unlock, number int32
	size := [4]uint16{24, 80}
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	program, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// topScreen is a terminal in which weir top runs.
type topScreen struct {
	t      *testing.T
	person *os.File
	stop   context.CancelFunc
	done   chan int // gets the exit code
	errs   bytes.Buffer
	seen   []byte
}

// startTop starts weir top in a terminal.
func startTop(t *testing.T, url string) *topScreen {
	t.Helper()
	person, program := terminal(t)
	ctx, stop := context.WithCancel(t.Context())
	s := &topScreen{t: t, person: person, stop: stop, done: make(chan int, 1)}
	go func() {
		code := run(ctx, []string{"top", "--redis", url, "--interval", "100ms"}, nil, program, &s.errs)
		fmt.Fprint(program, "the end")
		s.done <- code
	}()
	return s
}

func (s *topScreen) read() {
	s.t.Helper()
	buf := make([]byte, 4096)
	n, err := s.person.Read(buf)
	must(s.t, err)
	s.seen = append(s.seen, buf[:n]...)
}

func (s *topScreen) ended() bool { return bytes.Contains(s.seen, []byte("the end")) }

// end stops weir top, reads until its end, and checks its exit.
func (s *topScreen) end() {
	s.t.Helper()
	for s.stop(); !s.ended(); s.read() {
	}
	if code := <-s.done; code != 0 || s.errs.Len() > 0 {
		s.t.Errorf("exit code %d: %s", code, &s.errs)
	}
}

// TestTop: frames fit a terminal, follow each other, and leave no trace.
func TestTop(t *testing.T) {
	t.Parallel()
	url, _ := started(t)
	s := startTop(t, url)
	for bytes.Count(s.seen, []byte(home)) < 3 {
		s.read()
	}
	s.end()
	text := string(s.seen)
	if !strings.HasPrefix(text, enterScreen+home) || !strings.HasSuffix(text, leaveScreen+"the end") {
		t.Errorf("the screen is not as before: %q", text)
	}
	frame := strings.Split(text, home)[2]
	lines := strings.Split(frame, "\n")
	if len(lines) > 24 || !strings.Contains(frame, "3 keys by use") || !strings.Contains(frame, "every 100ms") {
		t.Errorf("a frame of %d lines: %q", len(lines), frame)
	}
	for _, line := range lines {
		if line = regexp.MustCompile(`\x1b\[[JK]|\r`).ReplaceAllString(line, ""); len(line) > 80 {
			t.Errorf("over 80 columns: %q", line)
		}
	}
}

// TestTopWhileRedisIsAway: top keeps the last frame, says since when Redis is away, and goes
// on when it is back.
func TestTopWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	must(t, server.Client().Set(t.Context(), "weir:{api:user:1}", "1g7/60s=0|1", time.Hour).Err())
	s := startTop(t, "redis://"+server.Addr)
	frames := 0
	// await returns the first whole frame from now on that is right.
	await := func(want string, right func(frame string) bool) string {
		t.Helper()
		for ; ; s.read() {
			for all := strings.Split(string(s.seen), home); frames < len(all)-1; frames++ {
				if frame := all[frames]; right(frame) {
					frames++
					return frame
				}
			}
			if s.ended() {
				t.Fatalf("top ends before %s: %q\n%s", want, s.seen, &s.errs)
			}
		}
	}
	const status = "Redis is away since "
	await("the key", func(frame string) bool { return strings.Contains(frame, "1 key by use") })
	server.Kill()
	since := func(frame string) string {
		_, text, _ := strings.Cut(frame, status)
		return text[:min(len(text), len("15:04:05 UTC: "))]
	}
	first := await("the outage", func(frame string) bool { return strings.Contains(frame, status) })
	// The first frame may have the end of the connection instead.
	later := await("a refused connection", func(frame string) bool {
		return strings.Contains(frame, status) && strings.Contains(frame, " UTC: dial")
	})
	if !regexp.MustCompile(`^\d\d:\d\d:\d\d UTC: $`).MatchString(since(first)) || since(first) != since(later) || !strings.Contains(later, "1 key by use") || !strings.Contains(later, "api:user:1") {
		t.Errorf("while Redis is away: %q, then %q", first, later)
	}
	server.Restart()
	await("the return", func(frame string) bool {
		return strings.Contains(frame, "0 keys by use") && !strings.Contains(frame, status)
	})
	s.end()
}

// show draws a frame on a terminal full of the frame before. Like xterm, the terminal keeps
// the cursor in the last column behind a full line, and clears from there.
func show(t *testing.T, frame string, width, height int) []string {
	t.Helper()
	screen := make([][]rune, height)
	for y := range screen {
		screen[y] = []rune(strings.Repeat("#", width))
	}
	x, y := 0, 0
	erase := func(y, from int) { copy(screen[y][from:], []rune(strings.Repeat(" ", width-from))) }
	for frame != "" {
		sequence := ""
		if strings.HasPrefix(frame, "\x1b[") {
			sequence = frame[:3]
		}
		switch r, size := utf8.DecodeRuneInString(frame); {
		case sequence == home:
			x, y = 0, 0
		case sequence == clearLine, sequence == clearUp:
			erase(y, min(x, width-1))
			for below := y + 1; sequence == clearUp && below < height; below++ {
				erase(below, 0)
			}
		case r == '\r':
			x = 0
		case r == '\n':
			if y++; y == height {
				t.Fatal("the screen scrolls")
			}
		case r == utf8.RuneError, r < ' ', x == width:
			t.Fatalf("%q in column %d", r, x)
		default:
			screen[y][x] = r
			x++
			frame = frame[size:]
			continue
		}
		frame = frame[max(len(sequence), 1):]
	}
	lines := make([]string, height)
	for y := range lines {
		lines[y] = strings.TrimRight(string(screen[y]), " ")
	}
	return lines
}

// TestScreen: a frame fits each terminal, and shows its last column.
func TestScreen(t *testing.T) {
	t.Parallel()
	var whole strings.Builder
	for i := range 9 {
		fmt.Fprintf(&whole, "line %d %s\n", i, strings.Repeat("ü", 100))
	}
	for _, test := range []struct{ width, height int }{{80, 24}, {20, 5}, {1, 1}, {300, 9}, {207, 9}, {8, 9}} {
		b := screen(whole.String(), test.width, test.height)
		for y, line := range show(t, b, test.width, test.height) {
			want := ""
			if y < 9 {
				text := fmt.Sprintf("line %d %s", y, strings.Repeat("ü", 100))
				want = strings.TrimRight(strings.ToValidUTF8(text[:min(len(text), test.width)], ""), " ")
			}
			if line != want {
				t.Errorf("%d by %d, line %d: %q, want %q", test.width, test.height, y, line, want)
			}
		}
	}
}

// TestFoot: the lines below the keys are on each screen of 7 lines and more, and without a
// status and a bound on one of 5 lines.
func TestFoot(t *testing.T) {
	t.Parallel()
	keys := make([]inspect.Key, 100)
	for i := range keys {
		keys[i] = inspect.Key{Limiter: "api", Key: fmt.Sprint("user", i), Next: inspect.Next{Allowed: true}}
	}
	l := listing{sort: "use"}
	if b := l.frame("weir:", inspect.Listing{}, "", time.Second, 80, 1); !strings.Contains(b, "0 keys") {
		t.Errorf("one line without keys: %q", b)
	}
	for _, height := range []int{5, 7, 8, 9, 24, 50, 103, 104, 105, 106, 107, 200} {
		for _, cut := range []bool{false, true} {
			for _, status := range []string{"", "Redis is away"} {
				if height < 7 && (cut || status != "") {
					continue
				}
				b := l.frame("weir:", inspect.Listing{Keys: keys, Cut: cut}, status, time.Second, 80, height)
				lines := show(t, b, 80, height)
				for len(lines) > 0 && lines[len(lines)-1] == "" {
					lines = lines[:len(lines)-1]
				}
				text := strings.Join(lines, "\n")
				shown := strings.Count(text, "api:user")
				last := lines[len(lines)-1]
				if cut && last != "There may be more keys: --max-keys and --max-scan end the search." {
					t.Errorf("%d lines end with %q", height, last)
				}
				more := fmt.Sprintf("\n%d more", len(keys)-shown)
				if shown == 0 || shown < len(keys) && (!strings.Contains(text, more) || len(lines) != height) {
					t.Errorf("%d lines, cut %t, status %q:\n%s", height, cut, status, text)
				}
				if !strings.HasPrefix(text, status) {
					t.Errorf("%d lines without %q:\n%s", height, status, text)
				}
			}
		}
	}
}

// TestDumbTerminal: a terminal without a cursor gets no commands.
func TestDumbTerminal(t *testing.T) {
	_, program := terminal(t)
	t.Setenv("TERM", "dumb")
	if isTerminal(program) {
		t.Error("top draws on a dumb terminal")
	}
	t.Setenv("TERM", "xterm")
	if !isTerminal(program) {
		t.Error("no terminal is known")
	}
}
