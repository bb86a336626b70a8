//go:build !linux

package redistest

import "syscall"

// dieWithParent changes nothing: only Linux can tie a child's life to its
// parent's. Elsewhere the cleanup functions of the tests end the servers.
func dieWithParent() *syscall.SysProcAttr { return nil }

// halted trusts the signal, for want of a portable way to look.
func (p *process) halted() bool { return true }
