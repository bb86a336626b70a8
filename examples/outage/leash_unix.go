//go:build unix

package main

import (
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// leash kills a process when this one ends, however suddenly. It is a shell that waits
// for the end of its input, which the kernel closes with this process.
type leash struct {
	cmd *exec.Cmd
	end io.Closer
}

func tie(pid int) (*leash, error) {
	cmd := exec.Command("/bin/sh", "-c", "read -r _; kill -9 "+strconv.Itoa(pid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the shell that ends redis-server with this process: %w", err)
	}
	return &leash{cmd, end}, nil
}

// untie lets the process live on.
func (l *leash) untie() {
	if l == nil {
		return
	}
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait()
	_ = l.end.Close()
}
