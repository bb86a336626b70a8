//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is the built program, running.
type program struct {
	*exec.Cmd
	lines  chan string // of its standard output; closed at the end
	stderr bytes.Buffer
}

func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "fleet")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// start runs the program in a process group of its own, as a shell does.
func start(t *testing.T, bin string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(bin, args...), lines: make(chan string, 100)}
	p.Stderr = &p.stderr
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL) })
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	return p
}

// until reads the output up to a line that contains text.
func (p *program) until(t *testing.T, text string) {
	t.Helper()
	for line := range p.lines {
		if strings.Contains(line, text) {
			return
		}
	}
	t.Fatalf("no %q was printed; errors: %s", text, p.stderr.String())
}

// end waits until the program and all of its workers are gone, and returns what
// else was printed and the exit code. The workers inherit standard error, so
// that Wait comes back only when the last of them has closed it.
func (p *program) end(t *testing.T) (string, int) {
	t.Helper()
	var rest strings.Builder
	for line := range p.lines {
		rest.WriteString(line + "\n")
	}
	p.WaitDelay = 10 * time.Second
	start := time.Now()
	err := p.Wait()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("workers were left for %v: %v", took, err)
	}
	return rest.String(), p.ProcessState.ExitCode()
}

func TestProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	bin := build(t)

	t.Run("run", func(t *testing.T) {
		t.Parallel()
		// How much is used is up to the machine, which may run many tests at once.
		p := start(t, bin, "-enough", "20")
		out, code := p.end(t)
		if code != 0 || p.stderr.Len() > 0 {
			t.Errorf("exit code %d, errors %q", code, p.stderr.String())
		}
		for _, want := range []string{
			"provider one lowers its limit from 40-in-2s to 16-in-2s\n",
			"provider three raises it again\n",
			"provider two refuses everybody for 2s\n",
			" was refused by provider one, and pauses the fleet\n",
			"\n  16.5s  ",
			"\nPAUSES\n  16.",
			"  the pause was set in the store, ",
			"           worker 3 sent its last call at ",
			"\n  three  ",
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
			p := start(t, bin)
			p.until(t, "   2.0s  ")
			// To the whole group, as Ctrl-C in a terminal.
			if err := syscall.Kill(-p.Process.Pid, signal); err != nil {
				t.Fatal(err)
			}
			_, code := p.end(t)
			if got, want := p.stderr.String(), "fleet: interrupted\n"; code != exitInterrupted || got != want {
				t.Errorf("exit code %d, printed %q, want %q", code, got, want)
			}
		})
	}
	t.Run("kill", func(t *testing.T) {
		t.Parallel()
		p := start(t, bin)
		p.until(t, "   2.0s  ")
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.end(t) // fails when the workers outlive their parent
	})
}
