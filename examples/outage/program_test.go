//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
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
	bin := filepath.Join(t.TempDir(), "outage")
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
	p.Env = append(p.Environ(), "TMPDIR="+t.TempDir())
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
func (p *program) until(t *testing.T, text string) string {
	t.Helper()
	for line := range p.lines {
		if strings.Contains(line, text) {
			return line
		}
	}
	t.Fatalf("no %q was printed; errors: %s", text, p.stderr.String())
	return ""
}

// end waits until the program is gone, and returns what else was printed and
// the exit code.
func (p *program) end() (string, int) {
	var rest strings.Builder
	for line := range p.lines {
		rest.WriteString(line + "\n")
	}
	_ = p.Wait()
	return rest.String(), p.ProcessState.ExitCode()
}

// gone expects that nothing answers at an address any more.
func gone(t *testing.T, addr string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ping(addr) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the redis-server at %s outlives its parent", addr)
		}
	}
}

func TestProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 seconds")
	}
	t.Parallel()
	bin := build(t)

	runs := map[string]func(t *testing.T) []string{
		"embedded": func(*testing.T) []string { return nil },
		"real":     func(t *testing.T) []string { return []string{"-redis-server", realServer(t)} },
	}
	for name, args := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, bin, append(args(t), "-duration", "12s", "-rate", "100")...)
			out, code := p.end()
			if code != 0 || p.stderr.Len() > 0 {
				t.Errorf("exit code %d, errors %q", code, p.stderr.String())
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
	for name, signal := range map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM, "kill": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, bin, "-redis-server", realServer(t), "-duration", "12s")
			_, addr, _ := strings.Cut(p.until(t, "redis:  "), ", at ")
			p.until(t, "7s  hung")
			// To the whole group, as Ctrl-C in a terminal.
			if err := syscall.Kill(-p.Process.Pid, signal); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			_, code := p.end()
			gone(t, addr)
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			if signal == syscall.SIGKILL {
				return
			}
			if code != exitInterrupted || !strings.HasPrefix(p.stderr.String(), "outage: interrupted after ") || strings.Count(p.stderr.String(), "\n") != 1 {
				t.Errorf("exit code %d, errors %q", code, p.stderr.String())
			}
		})
	}
}
