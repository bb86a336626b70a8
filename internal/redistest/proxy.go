package redistest

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy forwards TCP connections to a server, with the fault of the last Set. It is safe
// for concurrent use.
type Proxy struct {
	// Addr is the proxy's address, as host:port.
	Addr string

	tb     testing.TB
	target string
	wg     sync.WaitGroup // of every goroutine

	mu       sync.Mutex
	fault    Fault
	listener net.Listener // nil while connections are refused, and in the end
	links    map[*link]struct{}
	accepted int
}

// NewProxy starts a proxy in front of target, a host:port that need not answer yet. The
// proxy and its connections end with tb.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	port, err := claimAny(false)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Addr: address(port.number), tb: tb, target: target, links: make(map[*link]struct{})}
	tb.Cleanup(func() {
		p.Set(Refuse)
		p.wg.Wait()
		port.release()
	})
	p.Set(Pass)
	return p
}

// Set makes f the proxy's only fault, also for open connections. It fails the test if it
// can't listen again after [Refuse].
func (p *Proxy) Set(f Fault) {
	p.tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	for l := range p.links {
		l.replied = 0
		if f.kind == refuse || l.lossy && f.kind != blackhole {
			l.close(true)
		}
	}
	switch {
	case f.kind == refuse && p.listener != nil:
		p.listener.Close()
		p.listener = nil
	case f.kind != refuse && p.listener == nil:
		err := poll(patience, nil, p.listen)
		if err != nil {
			p.tb.Fatalf("redistest: proxy: %v", err)
		}
	}
}

// Accepted returns the number of connections accepted so far.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Open returns the number of open connections through the proxy.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// listen starts to accept connections. p.mu is held.
func (p *Proxy) listen() error {
	listener, err := net.Listen("tcp", p.Addr)
	if err != nil {
		return err
	}
	p.listener = listener
	p.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(conn.(*net.TCPConn)) })
		}
	})
	return nil
}

// serve carries one connection until either end closes it, or a fault does.
func (p *Proxy) serve(client *net.TCPConn) {
	l := &link{client: client, closed: make(chan struct{})}
	p.mu.Lock()
	p.accepted++
	if p.fault.kind == refuse {
		p.mu.Unlock()
		l.close(true)
		return
	}
	p.links[l] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()

	if p.swallows(l) {
		_, _ = io.Copy(io.Discard, client)
		l.close(true)
		return
	}
	conn, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil {
		l.close(true)
		return
	}
	server := conn.(*net.TCPConn)
	if l.attach(server) {
		p.wg.Go(func() { l.pump(p, client, server) })
		l.pump(p, server, client)
	}
	<-l.closed
}
