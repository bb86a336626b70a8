// Package delay has a TCP proxy that simulates a network on loopback: it forwards bytes
// with a delay.
package delay

import (
	"container/heap"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Config is the configuration of a Proxy.
type Config struct {
	// Target is the host:port of the server.
	Target string
	// Delay is the time between the arrival of bytes and their departure, in both
	// directions: half a round trip.
	Delay time.Duration
	// Jitter is the maximum change of a Delay, as a part of it. 0: none.
	Jitter float64
	// TLS is the configuration of a proxy that speaks TLS with its clients. Nil: no TLS.
	TLS *tls.Config
}

// Proxy forwards connections. Bytes of a connection keep their order.
type Proxy struct {
	// Addr is the proxy's address, as host:port.
	Addr string

	config   Config
	listener net.Listener
	alarm    alarm
	wg       sync.WaitGroup // of every goroutine

	mu     sync.Mutex
	queue  queue
	conns  map[net.Conn]struct{} // nil after Close
	number int                   // of the last chunk
}

// alarm wakes one goroutine up. set replaces the time of the next alarm, and must not
// follow end. wait reports false after end. Timers of package time can be late by a
// millisecond.
type alarm interface {
	set(d time.Duration)
	wait() bool
	end()
}

// Listen starts a proxy on a free port of loopback. Close ends it.
func Listen(config Config) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	wake, err := newAlarm()
	if err != nil {
		listener.Close()
		return nil, err
	}
	p := &Proxy{Addr: listener.Addr().String(), config: config, listener: listener, alarm: wake, conns: make(map[net.Conn]struct{})}
	if config.TLS != nil {
		p.listener = tls.NewListener(listener, config.TLS)
	}
	p.wg.Go(p.accept)
	p.wg.Go(p.forward)
	return p, nil
}

// Close ends the proxy and its connections. Bytes under way are lost.
func (p *Proxy) Close() {
	p.listener.Close()
	p.mu.Lock()
	for conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
	p.alarm.end()
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.config.Target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		if p.conns == nil {
			p.mu.Unlock()
			client.Close()
			server.Close()
			return
		}
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() { p.read(client, server) })
		p.wg.Go(func() { p.read(server, client) })
	}
}

var buffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// read queues the bytes of one direction, and its end.
func (p *Proxy) read(from, to net.Conn) {
	var last time.Time
	for {
		buf := buffers.Get().(*[16 << 10]byte)
		n, err := from.Read(buf[:])
		due := time.Now().Add(p.delay())
		if due.Before(last) {
			due = last
		}
		last = due
		if n > 0 {
			p.push(&chunk{due: due, to: to, buf: buf, n: n})
		}
		if err != nil {
			p.push(&chunk{due: due, to: to})
			return
		}
	}
}

func (p *Proxy) delay() time.Duration {
	d := float64(p.config.Delay)
	return time.Duration(d + d*p.config.Jitter*(2*rand.Float64()-1))
}

func (p *Proxy) push(c *chunk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		return
	}
	p.number++
	c.number = p.number
	heap.Push(&p.queue, c)
	if p.queue[0] == c {
		p.alarm.set(time.Until(c.due))
	}
}

// forward writes chunks at their times.
func (p *Proxy) forward() {
	for p.alarm.wait() {
		for c := p.pop(); c != nil; c = p.pop() {
			if c.buf != nil {
				_, err := c.to.Write(c.buf[:c.n])
				buffers.Put(c.buf)
				if err == nil {
					continue
				}
			}
			c.to.Close()
			p.mu.Lock()
			delete(p.conns, c.to)
			p.mu.Unlock()
		}
	}
}

// pop returns a chunk whose time has come. Without one it sets the alarm and returns nil.
func (p *Proxy) pop() *chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 || p.conns == nil {
		return nil
	}
	if wait := time.Until(p.queue[0].due); wait > 0 {
		p.alarm.set(wait)
		return nil
	}
	return heap.Pop(&p.queue).(*chunk)
}
