package delay

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// echo starts a server that returns its input, and a proxy before it.
func echo(t *testing.T, config Config) (*Proxy, net.Conn) {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		conn, err := server.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(conn, conn)
		conn.Close()
	}()
	config.Target = server.Addr().String()
	p, err := Listen(config)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		p.Close()
		server.Close()
		<-ended
	})
	return p, conn
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func TestARoundTripTakesTwoDelays(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config Config
		least  time.Duration
	}{
		{"none", Config{}, 0},
		{"100 µs", Config{Delay: 100 * time.Microsecond}, 200 * time.Microsecond},
		{"5 ms", Config{Delay: 5 * time.Millisecond}, 10 * time.Millisecond},
		{"5 ms ± 10 %", Config{Delay: 5 * time.Millisecond, Jitter: 0.1}, 9 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, conn := echo(t, tc.config)
			buf := make([]byte, 4)
			for range 5 {
				start := time.Now()
				send(t, conn, "ping")
				if _, err := io.ReadFull(conn, buf); err != nil || string(buf) != "ping" {
					t.Fatalf("%q, %v", buf, err)
				}
				if took := time.Since(start); took < tc.least {
					t.Errorf("took %v, want at least %v", took, tc.least)
				}
			}
		})
	}
}

func TestBytesKeepTheirOrder(t *testing.T) {
	_, conn := echo(t, Config{Delay: 200 * time.Microsecond, Jitter: 1})
	var want []byte
	for i := range 200_000 {
		want = append(want, byte(i%251))
	}
	go func() {
		for rest := want; len(rest) > 0; {
			n := min(1+len(rest)%977, len(rest))
			_, _ = conn.Write(rest[:n])
			rest = rest[n:]
		}
	}()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("other bytes came back, %v", err)
	}
}

// TestManyChunksAreUnderWay: a delay does not bound the rate.
func TestManyChunksAreUnderWay(t *testing.T) {
	p, conn := echo(t, Config{Delay: time.Hour})
	for want := 1; want <= 5; want++ {
		send(t, conn, "a")
		for {
			p.mu.Lock()
			n := len(p.queue)
			p.mu.Unlock()
			if n == want {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func TestAnEndArrives(t *testing.T) {
	_, conn := echo(t, Config{Delay: time.Millisecond})
	send(t, conn, "last words")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("no end: %v", err)
	}
}

func TestNoServer(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	p, err := Listen(Config{Target: server.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a connection without a server")
	}
}
