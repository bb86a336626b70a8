package redistest

import (
	"fmt"
	"net"
	"strconv"
)

// busOffset is the distance from a cluster node's port to its bus port. Redis 6 has no
// option for another distance.
const busOffset = 10000

// address is the loopback address of a port.
func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// port is a loopback port that was free when it was claimed. On Linux the kernel gives it
// to no other socket until release. On other systems another process may take it. A
// second release does nothing.
type port struct {
	number  int
	release func()
}

// claimAny claims any free port. With bus it also claims the port of its cluster bus.
func claimAny(bus bool) (port, error) {
	for range 100 {
		p, err := claim(0)
		if err != nil || !bus {
			return p, err
		}
		if n := p.number + busOffset; n <= 65535 {
			if b, err := claim(n); err == nil {
				return port{p.number, func() { p.release(); b.release() }}, nil
			}
		}
		p.release()
	}
	return port{}, fmt.Errorf("redistest: found no port p with p and p+%d free", busOffset)
}
