//go:build !linux

package redistest

import "syscall"

// dieWithParent changes nothing: only Linux can tie a child's life to its parent's. On
// other systems the tests' cleanup functions end the servers.
func dieWithParent() *syscall.SysProcAttr { return nil }

// halted trusts the signal: there is no portable way to look.
func (p *process) halted() bool { return true }
