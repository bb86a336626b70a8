//go:build unix

package program

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

// Program is a built program, running.
type Program struct {
	*exec.Cmd
	Errors bytes.Buffer // its standard error; complete after End
	lines  chan string  // of its standard output; closed at its end
}

// Build builds the tested program, and returns its path.
func Build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// Start runs the program in a process group of its own, like a shell.
func Start(t *testing.T, bin string, args ...string) *Program {
	t.Helper()
	p := &Program{Cmd: exec.Command(bin, args...), lines: make(chan string, 100)}
	p.Stderr = &p.Errors
	p.Env = append(p.Environ(), "TMPDIR="+t.TempDir())
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

// Until reads the output up to a line with text, and returns the line.
func (p *Program) Until(t *testing.T, text string) string {
	t.Helper()
	for line := range p.lines {
		if strings.Contains(line, text) {
			return line
		}
	}
	t.Fatalf("no %q was printed; errors: %s", text, p.Errors.String())
	return ""
}

// End waits until the program and all its workers have ended, and returns the rest of the
// output and the exit code. The workers inherit standard error, so Wait returns when the
// last of them has closed it.
func (p *Program) End(t *testing.T) (string, int) {
	t.Helper()
	var rest strings.Builder
	for line := range p.lines {
		rest.WriteString(line + "\n")
	}
	p.WaitDelay = 10 * time.Second
	start := time.Now()
	err := p.Wait()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("workers ran on for %v: %v", took, err)
	}
	return rest.String(), p.ProcessState.ExitCode()
}
