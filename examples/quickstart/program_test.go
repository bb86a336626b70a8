//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goweir/weir/examples/internal/program"
	"github.com/goweir/weir/internal/long"
)

func TestProgram(t *testing.T) {
	long.Only(t)
	t.Parallel()
	bin := program.Build(t)

	t.Run("run", func(t *testing.T) {
		t.Parallel()
		// The wide margin is for machines that run many tests at once.
		p := program.Start(t, bin, "-duration", "6s", "-margin", "400ms")
		out, code := p.End(t)
		if code != 0 || p.Errors.Len() > 0 {
			t.Errorf("exit code %d, errors %q", code, p.Errors.String())
		}
		for _, want := range []string{
			"  3s  upstream:  25 calls, 0 refused",
			"  calls                          50, by worker ",
			"  refused with 429               0\n",
			"  budget                         50 calls are the most allowed in ",
			"  share of the budget used       100.0 %\n",
			"  Redis calls per admitted call  ",
			"  waiting time                   p50 ",
			"\n  free     5 per second  ",
			"\n  pro      50 per second ",
			"\n  HTTP/1.1 200 OK\n",
			"\n  HTTP/1.1 429 Too Many Requests\n",
			"\n  Ratelimit: \"free\";r=0;t=1\n  Ratelimit-Policy: \"free\";q=5;w=1\n  Retry-After: 1\n",
			`"violated-policies":["free"]}`,
			"\nThe promise held",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in:\n%s", want, out)
			}
		}
	})
	for name, signal := range map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Start(t, bin)
			p.Until(t, " 2s  upstream")
			// To the whole group, as Ctrl-C in a terminal.
			if err := syscall.Kill(-p.Process.Pid, signal); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			_, code := p.End(t)
			if took := time.Since(begun); code != exitInterrupted || took > 5*time.Second {
				t.Errorf("exit code %d after %v", code, took)
			}
			if got, want := p.Errors.String(), "quickstart: interrupted after 25 calls, 0 of them refused by the upstream\n"; got != want {
				t.Errorf("printed %q, want %q", got, want)
			}
		})
	}
	t.Run("kill", func(t *testing.T) {
		t.Parallel()
		p := program.Start(t, bin)
		p.Until(t, " 2s  upstream")
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.End(t) // fails when the workers outlive their parent
	})
	t.Run("wrong flag", func(t *testing.T) {
		t.Parallel()
		p := program.Start(t, bin, "-frob")
		if out, code := p.End(t); code != exitUsage || out != "" || strings.Count(p.Errors.String(), "\n") != 1 {
			t.Errorf("exit code %d, printed %q and %q", code, out, p.Errors.String())
		}
	})
}
