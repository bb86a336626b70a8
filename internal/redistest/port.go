package redistest

import (
	"fmt"
	"net"
	"strconv"
)

// busOffset is the distance of a cluster node's bus port from its port. Redis
// 7 can be told another bus port, earlier versions cannot.
const busOffset = 10000

// address is the loopback address of a port.
func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// port is a loopback port that was free when it was claimed. On Linux nobody
// else is given it until release, whether somebody listens on it or not;
// elsewhere it may be gone when it is wanted. Releasing it again does nothing.
type port struct {
	number  int
	release func()
}

// claimAny claims any free port. With bus it claims the one of the cluster bus
// as well.
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
