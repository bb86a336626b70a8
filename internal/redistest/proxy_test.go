package redistest

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const ping, pong = "PING\r\n", "+PONG\r\n"

// dial connects through the proxy until the test ends.
func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// exchange sends one PING. It returns the bytes of the reply until the connection ends,
// or for as long as wait.
func exchange(t *testing.T, conn net.Conn, wait time.Duration) (string, error) {
	t.Helper()
	if _, err := io.WriteString(conn, ping); err != nil {
		return "", err
	}
	if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len(pong))
	n, err := io.ReadFull(conn, buf)
	return string(buf[:n]), err
}

func wantPong(t *testing.T, conn net.Conn) {
	t.Helper()
	if got, err := exchange(t, conn, patience); err != nil || got != pong {
		t.Fatalf("reply %q, %v; want %q", got, err, pong)
	}
}

func isTimeout(err error) bool {
	ne := net.Error(nil)
	return errors.As(err, &ne) && ne.Timeout()
}

func TestProxyPass(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr)
	a, b := dial(t, p), dial(t, p)
	wantPong(t, a)
	wantPong(t, b)
	wantPong(t, a)
	if p.Accepted() != 2 || p.Open() != 2 {
		t.Errorf("Accepted = %d, Open = %d; want 2 and 2", p.Accepted(), p.Open())
	}
	a.Close()
	await(t, "a closed connection stays", func() error {
		if p.Open() != 1 {
			return errors.New("open")
		}
		return nil
	})
	s.Kill()
	if got, err := exchange(t, b, patience); err == nil || isTimeout(err) {
		t.Errorf("reply %q, %v from a killed server; want the connection to end", got, err)
	}
	// The proxy can only end the next connection, as it listens. The client may see that
	// before it has sent anything.
	if conn, err := net.Dial("tcp", p.Addr); err == nil {
		if got, err := exchange(t, conn, patience); err == nil || isTimeout(err) {
			t.Errorf("reply %q, %v without a server; want the connection to end", got, err)
		}
		conn.Close()
	}
	s.Restart()
	wantPong(t, dial(t, p))
}

func TestProxyRefuse(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, Start(t).Addr)
	for range 3 {
		open := dial(t, p)
		wantPong(t, open)
		p.Set(Refuse)
		if got, err := exchange(t, open, patience); err == nil || isTimeout(err) {
			t.Errorf("reply %q, %v; want a reset", got, err)
		}
		conn, err := net.Dial("tcp", p.Addr)
		for tries := 1; errors.Is(err, syscall.ECONNRESET) && tries < 10; tries++ { // as below, and it has closed the port
			conn, err = net.Dial("tcp", p.Addr)
		}
		switch {
		case err == nil: // Another program may have the port for a moment.
			if got, err := exchange(t, conn, patience); err == nil {
				t.Errorf("connecting: reply %q, want it refused", got)
			}
			conn.Close()
		case !errors.Is(err, syscall.ECONNREFUSED):
			t.Errorf("connecting: %v, want it refused", err)
		}
		p.Set(Refuse)
		p.Set(Pass)
		wantPong(t, dial(t, p))
	}
}

func TestProxyBlackhole(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr)
	used, idle := dial(t, p), dial(t, p)
	wantPong(t, used)
	wantPong(t, idle)

	p.Set(Blackhole)
	fresh := dial(t, p)
	served := s.CommandsDuring(func() {
		for name, conn := range map[string]net.Conn{"an open": used, "a new": fresh} {
			if got, err := exchange(t, conn, faultTimeout); !isTimeout(err) || got != "" {
				t.Errorf("%s connection: reply %q, %v; want a timeout", name, got, err)
			}
		}
	})
	if len(served) != 0 {
		t.Errorf("the server was reached: %v", served)
	}

	p.Set(Pass)
	for name, conn := range map[string]net.Conn{"an open": used, "a new": fresh} {
		if got, err := exchange(t, conn, patience); err == nil || isTimeout(err) {
			t.Errorf("%s connection with a loss: reply %q, %v; want a reset", name, got, err)
		}
	}
	wantPong(t, idle)
	wantPong(t, dial(t, p))
}

func TestProxyBlackholeHidesADeadServer(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr)
	open := dial(t, p)
	wantPong(t, open)
	p.Set(Blackhole)
	s.Kill()
	for name, conn := range map[string]net.Conn{"an open": open, "a new": dial(t, p)} {
		if got, err := exchange(t, conn, faultTimeout); !isTimeout(err) {
			t.Errorf("%s connection: reply %q, %v; want a timeout", name, got, err)
		}
	}
	open.Close()
}

func TestProxyDelay(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, Start(t).Addr)
	conn := dial(t, p)
	wantPong(t, conn)
	const d = 30 * time.Millisecond
	p.Set(Delay(d))
	start := time.Now()
	wantPong(t, conn)
	if took := time.Since(start); took < 2*d {
		t.Errorf("a round trip took %v, want at least %v", took, 2*d)
	}
	// The end of the test does not wait for this.
	p.Set(Delay(time.Hour))
	if got, err := exchange(t, conn, faultTimeout); !isTimeout(err) {
		t.Errorf("reply %q, %v; want a timeout", got, err)
	}
}

func TestProxyCutMidReply(t *testing.T) {
	t.Parallel()
	s := Start(t)
	for n := range len(pong) {
		p := NewProxy(t, s.Addr)
		conn := dial(t, p)
		wantPong(t, conn)
		p.Set(CutMidReply(n))
		served := s.CommandsDuring(func() {
			if got, err := exchange(t, conn, patience); got != pong[:n] || err == nil || isTimeout(err) {
				t.Errorf("reply %q, %v; want %q and then the end", got, err, pong[:n])
			}
		})
		if served["ping"] != 1 {
			t.Errorf("served %v, want one PING", served)
		}
		p.Set(Pass)
		wantPong(t, dial(t, p))
	}
}

// With n beyond the first reply, the connection lives for n bytes.
func TestProxyCutInALaterReply(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, Start(t).Addr)
	p.Set(CutMidReply(2*len(pong) + 1))
	conn, other := dial(t, p), dial(t, p)
	for range 2 {
		wantPong(t, conn)
	}
	wantPong(t, other)
	if got, err := exchange(t, conn, patience); got != pong[:1] || err == nil {
		t.Errorf("third reply %q, %v; want %q and then the end", got, err, pong[:1])
	}
	wantPong(t, other)
}

func TestProxyUnderAClient(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr)
	mustSet(t, s.Client(), "k", "v")
	c := s.Client(impatient, func(o *redis.Options) { o.Addr = p.Addr })
	for _, f := range []Fault{Refuse, Blackhole, Delay(time.Second), CutMidReply(2), Throttle(10), Corrupt(0)} {
		await(t, "the client does not come through", func() error { return c.Get(t.Context(), "k").Err() })
		p.Set(f)
		if err := c.Get(t.Context(), "k").Err(); err == nil {
			t.Errorf("%+v: no error", f)
		}
		p.Set(Pass)
	}
	await(t, "the client does not recover", func() error { return c.Get(t.Context(), "k").Err() })
}
