package redistest

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// faultTimeout is how long a test waits for an answer that must not come.
const faultTimeout = 100 * time.Millisecond

func TestStopAndCont(t *testing.T) {
	t.Parallel()
	s := Start(t)
	mustSet(t, s.Client(), "k", "v")
	s.Stop()
	err := s.Client(impatient).Get(t.Context(), "k").Err()
	if ne := net.Error(nil); !errors.As(err, &ne) || !ne.Timeout() {
		t.Errorf("GET from a stopped server: %v, want a timeout", err)
	}
	// The kernel still accepts connections for it.
	conn, err := net.DialTimeout("tcp", s.Addr, patience)
	if err != nil {
		t.Errorf("connecting to a stopped server: %v", err)
	} else {
		conn.Close()
	}
	s.Cont()
	wantGet(t, s.Client(), "k", "v")
}

func TestKill(t *testing.T) {
	t.Parallel()
	s := Start(t)
	c := s.Client()
	mustSet(t, c, "k", "v")
	s.Kill()
	s.Kill()
	if err := c.Get(t.Context(), "k").Err(); err == nil {
		t.Error("a killed server answers")
	}
	if _, err := net.Dial("tcp", s.Addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connecting to a killed server: %v, want it refused", err)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		before func(*Server)
	}{
		{"running", func(*Server) {}},
		{"stopped", (*Server).Stop},
		{"killed", (*Server).Kill},
		{"restarted", (*Server).Restart},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, "--maxmemory", "7mb")
			c := s.Client()
			mustSet(t, c, "k", "v")
			addr := s.Addr
			tc.before(s)
			s.Restart()
			if s.Addr != addr {
				t.Errorf("Addr = %s after a restart, want %s", s.Addr, addr)
			}
			if n, err := c.DBSize(t.Context()).Result(); err != nil || n != 0 {
				t.Errorf("%d keys, %v after a restart; want none", n, err)
			}
			if got := c.ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"]; got != "7340032" {
				t.Errorf("maxmemory = %s after a restart, want 7340032", got)
			}
		})
	}
}

func TestRestartWaitsForItsPort(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.Kill()
	if err := os.Remove(s.logFile()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		defer l.Close()
		_ = poll(patience, nil, func() error {
			if !strings.Contains(s.Log(), "in use") {
				return errors.New("not tried yet")
			}
			return nil
		})
	}()
	s.Restart()
	<-closed
	mustSet(t, s.Client(), "k", "v")
}
