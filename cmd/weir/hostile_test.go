package main

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
)

// TestHostileNames: no name and no value in Redis reaches a terminal as a command.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	url, client := started(t)
	for _, name := range []string{"weir:{api:b}:\x1b]0;owned\x07", "weir:{api:b}:r\x1b[2J", "weir:{api:\x1b[2J}", "weir:{api:\u202eb}:log", "weir:{api:$(id)}"} {
		must(t, client.Set(t.Context(), name, "\x1b[2J\u202e", 0).Err())
	}
	for _, args := range [][]string{
		{"keys"}, {"keys", "--json"}, {"doctor"}, {"doctor", "--json"}, {"explain", "api:$(id)"}, {"peek", "api:$(id)"},
		{"explain", "\x1b[2J:\u202e"}, {"explain", "\x1b[2J"}, {"pause", "api:x", "\x1b[2J"}, {"keys", "--sort", "\x1b[2J"}, {"\x1b[2J"}, {"keys", "--\x1b[2J"},
	} {
		got := runOn(t.Context(), url, args...)
		if text := got.out + got.errs; strings.ContainsAny(text, "\x1b\x07\u202e") || text == "" {
			t.Errorf("%q: %q", args, text)
		}
	}
}

// TestServerErrorsAreText: neither does an error of a server.
func TestServerErrorsAreText(t *testing.T) {
	t.Parallel()
	if got := message(failed(&fs.PathError{Op: "ERR\x1b[2J", Path: "\u202e\r\n\a", Err: io.EOF})); got != "ERR?[2J ? ?: EOF" {
		t.Errorf("%q", got)
	}
}

// TestCompletionsAreInert: a shell expands completions as it expands a command.
func TestCompletionsAreInert(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, key, start, want string }{
		{"plain", "api:user:1", "api:", "api:user:1"},
		{"a substitution", "api:$(id)`id`", "api:", "api:%24%28id%29%60id%60"},
		{"quotes", `api:'"\`, "", "api:%27%22%5C"},
		{"escaped", "a%3Ab:c%20d", "a%3", "a%3Ab:c%20d"},
		{"another start", "api:1", "web", ""},
		{"a start that a shell expands", "api:$x1", "api:$x", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := completion(test.key, test.start); got != test.want || ok != (test.want != "") {
				t.Errorf("%q, %t, want %q", got, ok, test.want)
			}
		})
	}
}

// TestBashCompletion: bash, with cobra's script, runs nothing that a key's name says.
func TestBashCompletion(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	name, ok := completion("api:$(touch$IFS./owned)", "api:")
	if !ok {
		t.Fatal("no completion")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), bash, "-c", `compgen -W "$1" -- api:`, "-", name)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != name {
		t.Errorf("%v: %s", err, out)
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Error("a key's name was run")
	}
}

// full is an output of a full disk, or of a pipe without a reader.
type full struct{ err error }

func (f full) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: f.err}
}

// TestOutputErrors: an output that takes nothing is no fault of Redis.
func TestOutputErrors(t *testing.T) {
	t.Parallel()
	url, _ := started(t)
	for _, args := range [][]string{{"keys"}, {"keys", "--json"}, {"explain", "api:user:1"}, {"peek", "api:user:1"}, {"doctor"}, {"bench", "--duration", "1ms"}, {"simulate"}, {"simulate", "--json"}} {
		var errs bytes.Buffer
		if args[0] == "simulate" {
			args = append(args, "--limit", "5/s")
		} else {
			args = append(args, "--redis", url)
		}
		code := run(t.Context(), args, nil, full{syscall.ENOSPC}, &errs)
		if code != 1 || errs.String() != "weir: write /dev/stdout: no space left on device\n" {
			t.Errorf("%v: exit code %d: %s", args, code, &errs)
		}
	}
}

// TestSimulateIsInterrupted: Ctrl-C ends it, also while it waits for its input.
func TestSimulateIsInterrupted(t *testing.T) {
	t.Parallel()
	stdin, keep := io.Pipe()
	defer keep.Close()
	for _, args := range [][]string{{"--log", "-"}, {"--pattern", "constant:1000000/s", "--duration", "99s"}} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		begun := time.Now()
		var out, errs bytes.Buffer
		code := run(ctx, append([]string{"simulate", "--limit", "5/s"}, args...), stdin, &out, &errs)
		cancel()
		if code != 1 || errs.String() != "weir: interrupted\n" || out.Len() > 0 || time.Since(begun) > 10*time.Second {
			t.Errorf("%v: exit code %d after %v: %s%s", args, code, time.Since(begun), &out, &errs)
		}
	}
}

// TestSilentRedis: a Redis that hangs keeps no command from ending.
func TestSilentRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url := "redis://" + server.Addr + "?read_timeout=200ms&max_retries=1"
	server.Stop()
	defer server.Cont()
	for _, args := range [][]string{{"keys"}, {"peek", "a:b"}, {"pause", "a:b", "1m", "--limit", "1/s"}, {"doctor"}} {
		begun := time.Now()
		if got := runOn(t.Context(), url, args...); got.code != exitAway || time.Since(begun) > 10*time.Second {
			t.Errorf("%v: exit code %d after %v: %s%s", args, got.code, time.Since(begun), got.out, got.errs)
		}
	}
}
