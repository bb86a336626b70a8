package redistest

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Fault is a behaviour of a [Proxy] towards its connections. The zero value is [Pass].
type Fault struct {
	kind  kind
	delay time.Duration
	bytes int
}

type kind int

const (
	pass kind = iota
	refuse
	blackhole
	delay
	cut
	throttle
	corrupt
)

var (
	// Pass forwards everything at once.
	Pass = Fault{}
	// Refuse resets open connections and refuses new ones, like a server that is not
	// running.
	Refuse = Fault{kind: refuse}
	// Blackhole accepts connections and swallows all bytes in both directions, and the
	// server's closing, like a broken network. The end of the fault resets connections
	// that lost bytes.
	Blackhole = Fault{kind: blackhole}
)

// Delay forwards each chunk d after reading it, in both directions, like a slow network.
// A round trip takes at least 2d longer. A change of the fault does not shorten delays
// under way.
func Delay(d time.Duration) Fault { return Fault{kind: delay, delay: d} }

// CutMidReply closes a connection after n bytes of replies, like a server that dies while
// it answers: it has run the command by then. Each connection counts for itself, from the
// start of the fault. With n = 0 the connection closes in place of a reply.
func CutMidReply(n int) Fault { return Fault{kind: cut, bytes: n} }

// Throttle limits each connection to bytesPerSecond in each direction. A chunk arrives as
// a whole, at the time of its last byte.
func Throttle(bytesPerSecond int) Fault { return Fault{kind: throttle, bytes: bytesPerSecond} }

// Corrupt replaces the bytes of replies with question marks, from the n-th byte on. Each
// connection counts for itself, from the start of the fault. With n = 0 a reply loses its
// type; with a larger n its content is damaged.
func Corrupt(n int) Fault { return Fault{kind: corrupt, bytes: n} }

// swallows reports whether l loses its bytes now, and if so marks l.
func (p *Proxy) swallows(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.lossy = l.lossy || p.fault.kind == blackhole
	return p.fault.kind == blackhole
}

// judge decides about a chunk: how many bytes are forwarded after which wait, and whether
// the link ends then.
func (p *Proxy) judge(l *link, chunk []byte, replies bool) (keep int, wait time.Duration, end bool) {
	n := len(chunk)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch f := p.fault; f.kind {
	case blackhole:
		l.lossy = true
		return 0, 0, false
	case delay:
		return n, f.delay, false
	case cut:
		if !replies {
			return n, 0, false
		}
		keep = min(n, f.bytes-l.replied)
		l.replied += keep
		return keep, 0, l.replied >= f.bytes
	case throttle:
		return n, time.Duration(n) * time.Second / time.Duration(f.bytes), false
	case corrupt:
		if replies {
			for i := max(f.bytes-l.replied, 0); i < n; i++ {
				chunk[i] = '?'
			}
			l.replied += n
		}
	}
	return n, 0, false
}

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
