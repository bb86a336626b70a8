package redistest

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent makes the kernel kill the child when its parent ends. After a SIGKILL no
// deferred call and no signal handler could do so.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// halted reports whether SIGSTOP has taken effect. Sending a signal does not wait for
// that, and the process might answer one more command.
func (p *process) halted() bool { return state(p.cmd.Process.Pid) == "T" }

// state returns the kernel's letter for the state of a process, see proc(5), or ""
// without such a process.
func state(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name before the state is in parentheses, and may contain further ones.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}
