package leaktest

import (
	"runtime"
	"strings"
)

// goroutine is one entry of a dump of all stacks.
type goroutine struct {
	id    string
	stack string // as the runtime prints it, from "goroutine 7 [select]:" on
}

// running returns the goroutines of this process by id. The runtime never uses an id
// twice.
func running() map[string]goroutine {
	buf := make([]byte, 64<<10)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		// A full buffer has cut the dump off.
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	return parse(string(buf[:n]))
}

// parse splits a dump of stacks, which are separated by empty lines.
func parse(dump string) map[string]goroutine {
	all := make(map[string]goroutine)
	for stack := range strings.SplitSeq(dump, "\n\n") {
		stack = strings.TrimSpace(stack)
		rest, ok := strings.CutPrefix(stack, "goroutine ")
		id, _, found := strings.Cut(rest, " ")
		if ok && found {
			all[id] = goroutine{id: id, stack: stack}
		}
	}
	return all
}

// lifelong are packages with goroutines that may start and end at any time. They are no
// leaks.
var lifelong = []string{
	"runtime.",       // finalizers, tracing
	"runtime/pprof.", // go test -cpuprofile
	"runtime/trace.", // go test -trace
	"os/signal.",     // the one loop that waits for signals
	"internal/fuzz.", // the coordinator of go test -fuzz
}

// harmless reports whether a lifelong package started g.
//
// The creator decides, not the innermost frame: nearly every goroutine blocks inside the
// runtime. Package testing is not in the list: its goroutines end with the tests, and a
// test's leftover goroutine is a leak.
func (g goroutine) harmless() bool {
	i := strings.LastIndex(g.stack, "\ncreated by ")
	if i < 0 {
		return false
	}
	creator := g.stack[i+len("\ncreated by "):]
	for _, pkg := range lifelong {
		if strings.HasPrefix(creator, pkg) {
			return true
		}
	}
	return false
}
