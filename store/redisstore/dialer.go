package redisstore

import (
	"context"
	"crypto/tls"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// dialer is what the Dialer of go-redis's options is.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// everyDial makes a client dial whenever it needs a connection. By itself
// go-redis counts the dials that fail, and once there are as many as its pool
// is large it dials once a second only, and fails all calls in between: also
// those of a second in which Redis is back. A dial that fails as a connection
// does, when it is used, is not counted.
func everyDial(d *dialer, timeout *time.Duration, config **tls.Config) {
	dial := *d
	if dial == nil {
		// The options are read when it dials, since they may be set later.
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

// unconnected is what a failed dial returns: a connection on which everything
// fails as the dial did.
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

// SyscallConn is how go-redis looks whether a connection that nobody has used
// for a while is alive: one that was dialled ahead, or for a call that has not
// waited for it.
func (c *unconnected) SyscallConn() (syscall.RawConn, error) { return nil, c.err }

// peer is a net.Addr.
type peer struct{ network, addr string }

func (p peer) Network() string { return p.network }
func (p peer) String() string  { return p.addr }

// dialError is around the error of a dial, since go-redis returns what is
// inside an error of a connection's first use.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }
