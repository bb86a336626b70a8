// Package leaktest fails a test binary that leaves goroutines behind.
//
// Every suite of this module has
//
//	func TestMain(m *testing.M) { leaktest.Main(m) }
//
// A forgotten Close, a running timer loop or an open connection then fails the package,
// with the stack of each goroutine left.
package leaktest

import (
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// patience is the maximum time for goroutines to end after the last test.
const patience = 2 * time.Second

// Main runs the tests of m, waits up to two seconds for all goroutines that started
// meanwhile, and exits the process. The exit code is that of the tests. If they passed
// and goroutines are left, it is 1, and the stacks go to standard error.
//
// These goroutines are not leaks: earlier ones, and those of the runtime and of package
// testing. Idle connections of net/http are leaks: this package does not import it, as it
// doubles the time to link a small test. Main does not check after a failure, which often
// leaves things open. Nor does it check the worker processes of go test -fuzz, whose exit
// code has another meaning.
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

// fuzzWorker reports whether go test -fuzz started this process to try inputs. The flag
// is not documented; a process without it is no worker.
func fuzzWorker() bool {
	f := flag.Lookup("test.fuzzworker")
	return f != nil && f.Value.String() == "true"
}

// leaked waits until every goroutine that is not in before has ended, for as long as
// patience. It returns the rest.
func leaked(before map[string]goroutine, patience time.Duration) []goroutine {
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
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

// report writes leaks to w and returns the exit code.
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
