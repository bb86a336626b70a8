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
	closed chan struct{} // closed with the link

	// The proxy's mutex protects these.
	lossy   bool // some of its bytes were swallowed
	replied int  // bytes forwarded to the client since the start of the fault

	mu     sync.Mutex
	server *net.TCPConn // nil until there is a connection
}

// attach gives the link its connection to the server, and reports whether the link is
// still open.
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

// close closes both ends, once: with reset by a RST, as after a process has gone, else by
// a FIN after all forwarded bytes.
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

// pump carries bytes from one end to the other until either closes, or the fault of p
// ends the link.
func (l *link) pump(p *Proxy, from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			// A broken network hides the server's end from the client.
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
