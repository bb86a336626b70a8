package redistest

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestStart(t *testing.T) {
	t.Parallel()
	s := Start(t, "--maxmemory", "7mb", "--maxmemory-policy", "noeviction")
	c := s.Client()
	mustSet(t, c, "k", "v")
	wantGet(t, c, "k", "v")

	for name, want := range map[string]string{"maxmemory": "7340032", "save": "", "appendonly": "no", "bind": "127.0.0.1"} {
		got, err := c.ConfigGet(t.Context(), name).Result()
		if err != nil || got[name] != want {
			t.Errorf("CONFIG GET %s = %q, %v; want %q", name, got[name], err, want)
		}
	}
	if log := s.Log(); !strings.Contains(log, "Ready to accept connections") {
		t.Errorf("Log lacks the line that says it is ready:\n%s", log)
	}
}

func TestStartManyAtOnce(t *testing.T) {
	t.Parallel()
	binary(t)
	const n = 8
	servers := make([]*Server, n)
	t.Run("start", func(t *testing.T) {
		for i := range n {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				s := Start(t)
				servers[i] = s
				mustSet(t, s.Client(), "mine", s.Addr)
				wantGet(t, s.Client(), "mine", s.Addr)
			})
		}
	})
	for i, s := range servers {
		if s == nil {
			t.Fatalf("server %d was not started", i)
		}
		select {
		case <-s.proc.done:
		default:
			t.Errorf("server %d runs after its test", i)
		}
	}
}

func TestClientOptions(t *testing.T) {
	t.Parallel()
	s := Start(t)
	zero, one := s.Client(), s.Client(func(o *redis.Options) { o.DB = 1 })
	mustSet(t, one, "k", "v")
	if n := zero.Exists(t.Context(), "k").Val(); n != 0 {
		t.Error("the key is in database 0, want it in 1")
	}
}

func TestClientIsClosedWithTheTest(t *testing.T) {
	t.Parallel()
	binary(t)
	var c *redis.Client
	t.Run("inner", func(t *testing.T) {
		c = Start(t).Client()
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	})
	if err := c.Ping(t.Context()).Err(); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("Ping after the test: %v, want %v", err, redis.ErrClosed)
	}
}

// unstarted returns a server that Start has not launched.
func unstarted(t *testing.T, args ...string) *Server {
	s := &Server{tb: t, binary: binary(t), dir: t.TempDir(), args: args}
	t.Cleanup(s.end)
	return s
}

func TestLaunchReportsWhatTheServerSaid(t *testing.T) {
	t.Parallel()
	s := unstarted(t, "--no-such-option", "1")
	err := s.launchOn(func() (port, error) { return claimAny(false) })
	if err == nil || !strings.Contains(err.Error(), "no-such-option") {
		t.Errorf("error %v, want redis-server's own", err)
	}
}

func TestLaunchWithoutABinary(t *testing.T) {
	t.Parallel()
	s := &Server{tb: t, binary: "./no-such-binary", dir: t.TempDir()}
	if err := s.launchOn(func() (port, error) { return claimAny(false) }); err == nil {
		t.Error("no error")
	}
}

func TestLaunchOnTakenPorts(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	other := Start(t)

	// A redis-server on the port answers INFO: that must not count as ours.
	taken := []int{l.Addr().(*net.TCPAddr).Port, other.port.number}
	tried := 0
	s := unstarted(t)
	err = s.launchOn(func() (port, error) {
		tried++
		if tried > len(taken) {
			return claimAny(false)
		}
		return port{taken[tried-1], func() {}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if tried <= len(taken) {
		t.Errorf("listens on %s, which is taken", s.Addr)
	}
	mustSet(t, other.Client(), "whose", "other")
	if n := s.Client().Exists(t.Context(), "whose").Val(); n != 0 {
		t.Error("the client talks to the other server")
	}
}

func TestLaunchGivesUp(t *testing.T) {
	t.Parallel()
	other := Start(t)
	taken := port{other.port.number, func() {}}
	err := unstarted(t).launchOn(func() (port, error) { return taken, nil })
	if !errors.Is(err, errPortTaken) {
		t.Errorf("error %v, want %v", err, errPortTaken)
	}
}
