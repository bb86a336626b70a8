package redistest

import (
	"os/exec"
	"runtime"
)

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
