package redistest

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// link is one connection through a proxy.
type link struct {
	client *net.TCPConn
	closed chan struct{} // closed when the link is

	// The proxy's mutex protects these.
	lossy   bool // something of what it carried was swallowed
	replied int  // bytes forwarded to the client since the fault was set

	mu     sync.Mutex
	server *net.TCPConn // nil until there is a connection
}

// attach gives the link its connection to the server, and reports whether the
// link is still open.
func (l *link) attach(server *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		server.Close()
		return false
	default:
		l.server = server
		return true
	}
}

// close closes both ends, once. With reset they learn it by a RST, as from a
// process that is gone, else by a FIN after everything that was forwarded.
func (l *link) close(reset bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		return
	default:
		close(l.closed)
	}
	for _, conn := range []*net.TCPConn{l.client, l.server} {
		if conn == nil {
			continue
		}
		if reset {
			_ = conn.SetLinger(0)
		}
		conn.Close()
	}
}

// pump carries the bytes from one end to the other until one of them closes,
// or the fault of p ends the link.
func (l *link) pump(p *Proxy, from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			// A broken network does not tell the client of the server's end.
			if from == l.client || !p.swallows(l) {
				l.close(!errors.Is(err, io.EOF))
			}
			return
		}
		keep, wait, end := p.judge(l, buf[:n], to == l.client)
		if wait > 0 {
			select {
			case <-time.After(wait):
			case <-l.closed:
				return
			}
		}
		if keep > 0 {
			_, err = to.Write(buf[:keep])
		}
		if err != nil {
			l.close(true)
			return
		}
		if end {
			l.close(false)
			return
		}
	}
}
