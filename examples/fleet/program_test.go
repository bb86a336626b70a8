//go:build unix

package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goweir/weir/examples/internal/program"
	"github.com/goweir/weir/internal/long"
)

// late returns the machine's delay in the program's output.
func late(t *testing.T, out string) time.Duration {
	t.Helper()
	told := regexp.MustCompile(`this machine ran things up to (\S+) too late`).FindStringSubmatch(out)
	if told == nil {
		t.Fatalf("the output lacks the machine's delay:\n%s", out)
	}
	d, err := time.ParseDuration(told[1])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// stall is what a worker logs when the machine, which may run many tests at once, stands
// still for longer than a call waits for Redis.
var stall = regexp.MustCompile(`(?m)^.* WARN weir: the primary store can't decide a call .*(i/o timeout|deadline exceeded).*\n`)

func withoutStalls(s string) string { return stall.ReplaceAllString(s, "") }

func TestProgram(t *testing.T) {
	long.Only(t)
	t.Parallel()
	bin := program.Build(t)

	t.Run("run", func(t *testing.T) {
		t.Parallel()
		// The machine, which may run many tests at once, decides how much of the limits
		// is used.
		p := program.Start(t, bin, "-enough", "20")
		out, code := p.End(t)
		// A delayed process sends too early for a provider's clock.
		for tries := 1; code == exitBroken && late(t, out) > 50*time.Millisecond; tries++ {
			if tries == 3 {
				t.Fatalf("the machine is too busy: it was late by %v", late(t, out))
			}
			t.Logf("the machine was late by %v: again, after %s", late(t, out), p.Errors.String())
			p = program.Start(t, bin, "-enough", "20")
			out, code = p.End(t)
		}
		if got := withoutStalls(p.Errors.String()); code != 0 || got != "" {
			t.Errorf("exit code %d, errors %q", code, got)
		}
		for _, want := range []string{
			"provider one lowers its limit from 40-in-2s to 16-in-2s\n",
			"provider three raises it again\n",
			"provider two refuses everybody for 2s\n",
			" was refused by provider one, and pauses the fleet\n",
			"\n  10.5s  ",
			"  the pause was set in the store, ",
			"           worker 3 sent its last call at ",
			"\n  three  ",
			"\nThe promise held",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in:\n%s", want, out)
			}
		}
		// Provider one makes the first pause, from 10 s to 13 s.
		if paused := regexp.MustCompile(`\nPAUSES\n  1[0123]\.\d`); !paused.MatchString(out) {
			t.Errorf("no %q in:\n%s", paused, out)
		}
	})
	for name, signal := range map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Start(t, bin)
			p.Until(t, "   2.0s  ")
			// The whole group gets the signal, like Ctrl-C in a terminal.
			if err := syscall.Kill(-p.Process.Pid, signal); err != nil {
				t.Fatal(err)
			}
			_, code := p.End(t)
			if got, want := withoutStalls(p.Errors.String()), "fleet: interrupted\n"; code != exitInterrupted || got != want {
				t.Errorf("exit code %d, printed %q, want %q", code, got, want)
			}
		})
	}
	t.Run("kill", func(t *testing.T) {
		t.Parallel()
		p := program.Start(t, bin)
		p.Until(t, "   2.0s  ")
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.End(t) // fails if workers outlive their parent
	})
}
