package main

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// street is a listener on this machine whose connections come from any addresses, as in a
// network: only for the demo.
type street struct {
	net.Listener
	mu   sync.Mutex
	from map[string]netip.Addr // by the connection's real address
}

func newStreet() (*street, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &street{Listener: l, from: make(map[string]netip.Addr)}, nil
}

// dialer returns a function that connects from an address.
func (s *street) dialer(from string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	addr := netip.MustParseAddr(from)
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		s.mu.Lock() // held until the address is in from
		defer s.mu.Unlock()
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", s.Addr().String())
		if err == nil {
			s.from[c.LocalAddr().String()] = addr
		}
		return c, err
	}
}

// Accept implements net.Listener.
func (s *street) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &guest{c, s}, nil
}

type guest struct {
	net.Conn
	street *street
}

// RemoteAddr returns the connection's pretended address.
func (g *guest) RemoteAddr() net.Addr {
	real := g.Conn.RemoteAddr().(*net.TCPAddr)
	g.street.mu.Lock()
	defer g.street.mu.Unlock()
	if from, ok := g.street.from[real.String()]; ok {
		return net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, uint16(real.Port)))
	}
	return real
}
