// Package leaktest fails a test binary that leaves goroutines behind.
//
// Every suite of this module has
//
//	func TestMain(m *testing.M) { leaktest.Main(m) }
//
// so that a forgotten Close, an unstopped timer loop or a connection nobody
// closed fails the package, with the stack of what is still running.
package leaktest

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"
)

// patience bounds how long goroutines may take to end after the last test:
// those that were told to stop need a moment until they have.
const patience = 2 * time.Second

// Main runs the tests of m, then waits up to two seconds for every goroutine
// that started meanwhile to end, and exits the process. The exit code is that
// of the tests; it is 1 when they passed and goroutines are left, whose stacks
// are printed to standard error.
//
// Goroutines that ran before Main was called, and those of the runtime and of
// package testing, are not leaks. Idle connections of [http.DefaultTransport]
// are closed. Nothing is checked after a failure, which often leaves things
// open that the failed test would have closed, and in the worker processes of
// go test -fuzz, whose exit code has a meaning of its own.
//
// Main never returns, so it must be the last call of TestMain.
func Main(m *testing.M) {
	before := running()
	code := m.Run()
	if code == 0 && !fuzzWorker() {
		code = report(os.Stderr, leaked(before, patience))
	}
	os.Exit(code)
}

// fuzzWorker reports whether this process was started by go test -fuzz to try
// inputs. The flag is not documented; without it this is no worker.
func fuzzWorker() bool {
	f := flag.Lookup("test.fuzzworker")
	return f != nil && f.Value.String() == "true"
}

// leaked polls until every goroutine that is not in before has ended, for as
// long as patience, and returns those that have not.
func leaked(before map[string]goroutine, patience time.Duration) []goroutine {
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		// Each time, because a connection in use turns idle only when its
		// response has been read to the end.
		if t, ok := http.DefaultTransport.(interface{ CloseIdleConnections() }); ok {
			t.CloseIdleConnections()
		}
		var left []goroutine
		for id, g := range running() {
			if _, known := before[id]; !known && !g.harmless() {
				left = append(left, g)
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(pause)
	}
}

// report writes what leaked to w and returns the exit code for it.
func report(w io.Writer, leaks []goroutine) int {
	if len(leaks) == 0 {
		return 0
	}
	fmt.Fprintf(w, "leaktest: goroutines still running after the tests: %d\n", len(leaks))
	for _, g := range leaks {
		fmt.Fprintf(w, "\n%s\n", g.stack)
	}
	return 1
}
