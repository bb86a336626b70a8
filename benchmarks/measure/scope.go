package measure

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/internal/redistest"
)

// scope stands in for a test where servers are started. It closes their resources. A call
// that would fail a test panics with a failure.
type scope struct {
	testing.TB // for methods without a call

	mu      sync.Mutex
	closing []func()
}

// failure is the panic of a scope.
type failure string

func (f failure) Error() string { return string(f) }

func (s *scope) Helper() {}

func (s *scope) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = append(s.closing, f)
}

func (s *scope) TempDir() string {
	dir, err := os.MkdirTemp("", "weir-benchmarks-")
	if err != nil {
		panic(failure(err.Error()))
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (s *scope) Fatal(args ...any)                 { panic(failure(fmt.Sprint(args...))) }
func (s *scope) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }
func (s *scope) Skip(args ...any)                  { s.Fatal(args...) }

// close closes all resources, the last first. A panic in one does not keep others open.
func (s *scope) close() {
	s.mu.Lock()
	closing := s.closing
	s.closing = nil
	s.mu.Unlock()
	for _, f := range slices.Backward(closing) {
		_ = caught(func() error { f(); return nil })
	}
}

// server starts a redis-server.
func (s *scope) server() (*redistest.Server, contender.Servers) {
	server := redistest.Start(s, "--maxmemory", "0", "--maxclients", "4000")
	return server, contender.Servers{Addrs: []string{server.Addr}}
}
