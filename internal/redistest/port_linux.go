package redistest

import (
	"os"
	"sync"
	"syscall"
)

// claim claims a port, or any free one if number is 0.
//
// It holds a socket that is bound to the port and never listens. Meanwhile the kernel
// does not pick that port for others, and refuses connections to it while no socket
// listens. A socket with SO_REUSEADDR, as of redis and package net, can still listen on
// this very port.
func claim(number int) (port, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return port{}, os.NewSyscallError("socket", err)
	}
	// It runs once, as the kernel may reuse fd afterwards.
	release := sync.OnceFunc(func() { _ = syscall.Close(fd) })
	if err := bind(fd, &number); err != nil {
		release()
		return port{}, err
	}
	return port{number, release}, nil
}

// bind binds fd to *number. For 0 it picks a port, and stores it there.
func bind(fd int, number *int) error {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: *number, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	*number = name.(*syscall.SockaddrInet4).Port
	return nil
}
