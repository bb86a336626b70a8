//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// realServer returns the path of a redis-server, by the same environment variable as the
// library's suites. It skips the test without one.
func realServer(t *testing.T) string {
	t.Helper()
	name := os.Getenv("WEIR_REDIS_SERVER")
	if name == "" {
		name = "redis-server"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		if required := os.Getenv("WEIR_REQUIRE_REDIS"); required != "" && required != "0" {
			t.Fatal(err)
		}
		t.Skipf("%v; skipped", err)
	}
	return path
}

func TestReal(t *testing.T) {
	t.Parallel()
	s, err := startReal(realServer(t))
	if err != nil {
		t.Fatal(err)
	}
	exercise(t, s)
	if err := ping(s.addr()); err == nil {
		t.Error("the server answers after close")
	}
	if _, err := os.Stat(s.(*child).dir); !os.IsNotExist(err) {
		t.Errorf("the server's directory remains: %v", err)
	}
}

func TestRealThatIsNoServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "redis-server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho first\necho no license\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := startReal(path)
	if err == nil {
		s.close()
		t.Fatal("it started")
	}
	if text := err.Error(); !strings.HasPrefix(text, "-redis-server: ") || !strings.HasSuffix(text, `the last it said: "no license"`) {
		t.Error(text)
	}
}

// The end of the shell's input, which our death causes, ends the process too.
func TestLeash(t *testing.T) {
	t.Parallel()
	for _, tied := range []bool{true, false} {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		l, err := tie(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if !tied {
			l.untie()
		}
		_ = l.end.Close()
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		wait := 5 * time.Second
		if !tied {
			wait = 300 * time.Millisecond
		}
		select {
		case <-ended:
			if !tied {
				t.Error("a process without a leash has ended")
			}
		case <-time.After(wait):
			if tied {
				t.Error("the process outlives the end of its leash")
			}
		}
		_ = cmd.Process.Kill()
		<-ended
		l.untie()
	}
}
