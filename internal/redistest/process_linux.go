package redistest

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent has the kernel kill the child when its parent ends, which no
// deferred call and no signal handler could do after a SIGKILL.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// halted reports whether SIGSTOP has taken effect: sending a signal does not
// wait for that, and the process might answer one more command.
func (p *process) halted() bool { return state(p.cmd.Process.Pid) == "T" }

// state returns the letter by which the kernel names what the process is
// doing, see proc(5), or "" when there is no such process.
func state(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name before the state is in parentheses and may contain some itself.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}
