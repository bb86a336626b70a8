package redistest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a redis-server process of a test. Its methods fail the test on an error, so
// only the test's goroutine may call them, one at a time. Clients may be used from
// anywhere.
type Server struct {
	// Addr is the server's address, as host:port. A restart keeps it.
	Addr string

	tb     testing.TB
	binary string
	dir    string
	args   []string
	port   port
	proc   *process
}

// Start starts a server with its data in memory only, and returns when it answers. It is
// killed when tb ends.
//
// The arguments are passed on, as "--maxmemory", "1mb". They must not set a password,
// which Start would not know: use CONFIG SET for that.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	memoryOnly := []string{"--save", "", "--appendonly", "no"}
	return start(tb, false, append(memoryOnly, args...)...)
}

// start starts a server with the given arguments, and adds a port, a directory and an
// address. With bus the server also has its cluster bus.
func start(tb testing.TB, bus bool, args ...string) *Server {
	tb.Helper()
	// TempDir comes first, so its directory is removed last, after the server that writes
	// there was killed.
	s := &Server{tb: tb, binary: binary(tb), dir: tb.TempDir(), args: args}
	tb.Cleanup(s.end)
	if err := s.launchOn(func() (port, error) { return claimAny(bus) }); err != nil {
		tb.Fatal(err)
	}
	return s
}

// launchOn launches the server on a port from next, and on another one if that is taken.
func (s *Server) launchOn(next func() (port, error)) error {
	for attempt := 0; ; attempt++ {
		p, err := next()
		if err != nil {
			return err
		}
		s.port, s.Addr = p, address(p.number)
		err = s.launch()
		if !errors.Is(err, errPortTaken) || attempt == 10 {
			return err
		}
		p.release()
	}
}

// end kills the process, if any, and releases the port.
func (s *Server) end() {
	if s.proc != nil {
		s.proc.kill()
	}
	if s.port.release != nil {
		s.port.release()
	}
}

// errPortTaken is the error of launch when another process has the port.
var errPortTaken = errors.New("redistest: the port is taken")

// launch starts the process and returns when it answers.
func (s *Server) launch() error {
	output, err := os.Create(s.logFile())
	if err != nil {
		return err
	}
	defer output.Close()
	own := []string{"--port", strconv.Itoa(s.port.number), "--bind", "127.0.0.1", "--dir", s.dir, "--daemonize", "no"}
	cmd := exec.Command(s.binary, slices.Concat(s.args, own)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, output, output
	if s.proc, err = spawn(cmd); err != nil {
		return err
	}
	err = poll(startTimeout, s.proc.done, s.ready)
	if err == nil {
		return nil
	}
	s.proc.kill()
	if strings.Contains(strings.ToLower(s.Log()), "address already in use") {
		return errPortTaken
	}
	return fmt.Errorf("redistest: %s did not start: %w (%v); its output:\n%s", s.binary, err, s.proc.err, s.Log())
}

// ready returns nil if the server answers. It checks the process ID: another server on
// the port may answer while ours still finds the port taken.
func (s *Server) ready() error {
	// Another process on the port may accept and never answer.
	info, err := s.info("server", 500*time.Millisecond)
	if err != nil {
		return err
	}
	if want := strconv.Itoa(s.proc.cmd.Process.Pid); info["process_id"] != want {
		return fmt.Errorf("process %s answered in place of %s", info["process_id"], want)
	}
	return nil
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "server.log") }

// Log returns the server's output since its last start.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Client returns a client of the server with the defaults of go-redis, changed by opts.
// It is closed when the server's test ends, or earlier by the test.
func (s *Server) Client(opts ...func(*redis.Options)) *redis.Client {
	o := &redis.Options{Addr: s.Addr}
	for _, opt := range opts {
		opt(o)
	}
	c := redis.NewClient(o)
	closeAfter(s.tb, c)
	return c
}

// closeAfter closes a client at the end of the test. It drops the error: the test may
// have closed the client, or killed its server.
func closeAfter(tb testing.TB, c interface{ Close() error }) {
	tb.Cleanup(func() { _ = c.Close() })
}

// do sends one command to the server and returns its reply as text.
func (s *Server) do(args ...string) (string, error) {
	return query(s.Addr, 5*time.Second, args...)
}

// must is do for a command that must succeed.
func (s *Server) must(args ...string) string {
	s.tb.Helper()
	reply, err := s.do(args...)
	if err != nil {
		s.tb.Fatalf("redistest: %.80s: %v", strings.Join(args, " "), err)
	}
	return reply
}
