package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

const (
	serverEnv  = "WEIR_REDIS_SERVER"
	requireEnv = "WEIR_REQUIRE_REDIS"
)

// binary returns the path of redis-server. Without one it ends the test: with a failure
// if a server is required, else with a skip.
func binary(tb testing.TB) string {
	tb.Helper()
	path, missing, required := find(os.Getenv, exec.LookPath)
	switch {
	case missing == "":
		return path
	case required:
		tb.Fatal(missing)
	default:
		tb.Skip(missing + "; skipped")
	}
	return ""
}

// find looks for a redis-server. missing, if not empty, says in one line why there is
// none. required reports whether a test must then fail.
func find(getenv func(string) string, lookPath func(string) (string, error)) (path, missing string, required bool) {
	name, where := "redis-server", "redis-server not found on PATH"
	if set := getenv(serverEnv); set != "" {
		name, where = set, fmt.Sprintf("%s=%s not found", serverEnv, set)
	}
	if path, err := lookPath(name); err == nil {
		return path, "", false
	}
	required = getenv(requireEnv) != "" && getenv(requireEnv) != "0"
	return "", fmt.Sprintf("%s: install it (apt-get install redis-server) or set %s", where, serverEnv), required
}

// process is a child that ends with this process at the latest.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed after the end of the child, and Wait
	err  error         // how it ended; only valid after done
}

// spawn starts cmd, which must write its output to files, if anywhere. With a pipe, Wait
// would also wait for every process that inherits it.
func spawn(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = dieWithParent()
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// For Linux the parent is the thread that forked the child, not the process. When
		// the runtime ends that thread, in the middle of a test, the child would die.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		<-p.done
		return nil, err
	}
	return p, nil
}

// kill ends the process, running or stopped, and returns when it is gone.
func (p *process) kill() {
	// The only error is that of an ended process.
	_ = p.cmd.Process.Kill()
	<-p.done
}
