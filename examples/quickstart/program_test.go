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
		p := program.Start(t, bin, "-windows", "2")
		p.Until(t, "A provider allows 10 calls per any 2s.")
		out, code := p.End(t)
		if code != 0 || p.Errors.Len() > 0 {
			t.Errorf("exit code %d, errors %q", code, p.Errors.String())
		}
		for _, want := range []string{"\nWITHOUT weir", "\nWITH weir", "\nwith weir          20       20        0      100.0 %\n", "\nThe limit held"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in:\n%s", want, out)
			}
		}
		if strings.Contains(out, "\x1b") {
			t.Error("colours, but no terminal")
		}
	})
	for name, signal := range map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Start(t, bin)
			p.Until(t, "  1.0s ")
			begun := time.Now()
			if err := p.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_, code := p.End(t)
			if took := time.Since(begun); code != exitInterrupted || took > 5*time.Second {
				t.Errorf("exit code %d after %v", code, took)
			}
			if got := p.Errors.String(); got != "quickstart: interrupted\n" {
				t.Errorf("printed %q", got)
			}
		})
	}
}
