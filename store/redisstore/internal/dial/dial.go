// Package dial keeps go-redis dialling while a server is away.
package dial

import (
	"context"
	"crypto/tls"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Dialer is the type of the Dialer option of go-redis.
type Dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// Always makes a client dial whenever it needs a connection. go-redis counts failed
// dials. After as many as its pool has connections, it dials once per second, and fails all
// other calls even if Redis is back. So a failed dial returns a connection that fails at
// its first use, which go-redis does not count.
func Always(d *Dialer, timeout *time.Duration, config **tls.Config) {
	dial := *d
	if dial == nil {
		// The options may be set later, so they are read at each dial.
		dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return redis.NewDialer(&redis.Options{DialTimeout: *timeout, TLSConfig: *config})(ctx, network, addr)
		}
	}
	*d = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return &unconnected{&dialError{err}, peer{network, addr}}, nil
		}
		return conn, nil
	}
}

// unconnected is the result of a failed dial: a connection whose every use returns the
// dial's error.
type unconnected struct {
	err error
	to  peer
}

func (c *unconnected) Read([]byte) (int, error)         { return 0, c.err }
func (c *unconnected) Write([]byte) (int, error)        { return 0, c.err }
func (c *unconnected) Close() error                     { return nil }
func (c *unconnected) LocalAddr() net.Addr              { return c.to }
func (c *unconnected) RemoteAddr() net.Addr             { return c.to }
func (c *unconnected) SetDeadline(time.Time) error      { return nil }
func (c *unconnected) SetReadDeadline(time.Time) error  { return nil }
func (c *unconnected) SetWriteDeadline(time.Time) error { return nil }

// SyscallConn reports the connection as dead. go-redis calls it for idle connections:
// dialled ahead, or for a call that has left.
func (c *unconnected) SyscallConn() (syscall.RawConn, error) { return nil, c.err }

// peer is a net.Addr.
type peer struct{ network, addr string }

func (p peer) Network() string { return p.network }
func (p peer) String() string  { return p.addr }

// dialError wraps the error of a dial, as go-redis unwraps the error of a connection's first
// use.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }
