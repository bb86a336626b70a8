//go:build !linux

package redistest

import "net"

// claim checks that a port is free, or finds a free one if number is 0. There is no
// portable way to keep it.
func claim(number int) (port, error) {
	l, err := net.Listen("tcp", address(number))
	if err != nil {
		return port{}, err
	}
	return port{l.Addr().(*net.TCPAddr).Port, func() {}}, l.Close()
}
