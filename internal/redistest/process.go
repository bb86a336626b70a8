package redistest

import (
	"os/exec"
	"runtime"
)

// process is a child that lives no longer than this process does.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended and was waited for
	err  error         // how it ended; only valid after done
}

// spawn starts cmd, which must write its output to files, if anywhere, so that
// waiting for it never means waiting for somebody who inherited a pipe.
func spawn(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = dieWithParent()
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Linux counts as the parent the thread that forked the child, not the
		// process. Had that thread some other work, the child would be killed
		// when the runtime lets the thread go, in the middle of a test.
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

// kill ends the process, also when it is stopped, and returns when it is gone.
func (p *process) kill() {
	// The only error is that the process has ended already.
	_ = p.cmd.Process.Kill()
	<-p.done
}
