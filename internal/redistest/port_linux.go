package redistest

import (
	"os"
	"sync"
	"syscall"
)

// claim claims a port, or any free one if number is 0.
//
// It holds a socket that is bound to the port and never listens. As long as it
// does, the kernel picks that port for nobody who asks for any, and refuses
// connections to it while nobody listens; but with SO_REUSEADDR, which redis
// and package net set, those who ask for this very port can listen on it.
func claim(number int) (port, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return port{}, os.NewSyscallError("socket", err)
	}
	// Once, since the kernel may give fd to somebody else afterwards.
	release := sync.OnceFunc(func() { _ = syscall.Close(fd) })
	if err := bind(fd, &number); err != nil {
		release()
		return port{}, err
	}
	return port{number, release}, nil
}

// bind binds fd to the port, and sets it to the one that it got if it was 0.
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
