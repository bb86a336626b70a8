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

// gone waits until no server answers at an address.
func gone(t *testing.T, addr string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ping(addr) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the redis-server at %s outlives its parent", addr)
		}
	}
}

func TestProgram(t *testing.T) {
	long.Only(t)
	t.Parallel()
	bin := program.Build(t)

	runs := map[string]func(t *testing.T) []string{
		"embedded": func(*testing.T) []string { return nil },
		"real":     func(t *testing.T) []string { return []string{"-redis-server", realServer(t)} },
	}
	for name, args := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Start(t, bin, append(args(t), "-duration", "12s", "-rate", "100")...)
			out, code := p.End(t)
			if code != 0 || p.Errors.Len() > 0 {
				t.Errorf("exit code %d, errors %q", code, p.Errors.String())
			}
			for _, want := range []string{
				`(?m)^        killed from 2s to 4s, hung from 6s to 7s, killed from 9s to 10s$`,
				`(?m)^  4s  killed       open         0 +\d+ `,
				`(?m)^ 12s  back, full `,
				`(?m)^  max +50 per second +(299|30\d) +0 +(299|30\d) `,
				`(?m)^ +2\.\d+s  replica \d: redis is away: `,
				`(?m)^ +\d+\.\d+s  replica \d: redis is back after `,
				`(?m)^  requests +1(199|20\d) in `,
				`(?m)^  lost +0$`,
				`(?m)^  answered with a 5xx +0$`,
				`\nThe outages were boring`,
			} {
				if !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("no %s in:\n%s", want, out)
				}
			}
		})
	}
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		stopped(t, bin)
	})
}

// stopped sends signals to three programs. They run at the same time.
func stopped(t *testing.T, bin string) {
	signals := map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM, "kill": syscall.SIGKILL}
	programs := make(map[string]*program.Program)
	for name := range signals {
		programs[name] = program.Start(t, bin, "-redis-server", realServer(t), "-duration", "12s", "-rate", "50")
	}
	for name, signal := range signals {
		t.Run(name, func(t *testing.T) {
			p := programs[name]
			_, addr, _ := strings.Cut(p.Until(t, "redis:  "), ", at ")
			p.Until(t, "7s  hung")
			// The whole group gets the signal, like Ctrl-C in a terminal.
			if err := syscall.Kill(-p.Process.Pid, signal); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			_, code := p.End(t)
			gone(t, addr)
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			if signal == syscall.SIGKILL {
				return
			}
			if code != exitInterrupted || !strings.HasPrefix(p.Errors.String(), "outage: interrupted after ") || strings.Count(p.Errors.String(), "\n") != 1 {
				t.Errorf("exit code %d, errors %q", code, p.Errors.String())
			}
		})
	}
}
