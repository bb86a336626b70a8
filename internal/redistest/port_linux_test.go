package redistest

import (
	"net"
	"testing"
)

// The kernel picks no claimed port: neither for a listener nor for the near end of a
// connection. With 500 of about 28000 ports claimed, 3000 picks would otherwise meet
// dozens of them.
func TestClaimedPortsAreNotGivenAway(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	claimed := make(map[int]bool)
	for range 500 {
		p, err := claim(0)
		if err != nil {
			t.Fatal(err)
		}
		defer p.release()
		if claimed[p.number] {
			t.Fatalf("port %d was claimed twice", p.number)
		}
		claimed[p.number] = true
	}
	for range 3000 {
		got, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		got.Close()
		if n := got.Addr().(*net.TCPAddr).Port; claimed[n] {
			t.Fatalf("port %d is claimed, and a listener got it", n)
		}
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		// A reset leaves no state that keeps the port busy.
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
		if n := conn.LocalAddr().(*net.TCPAddr).Port; claimed[n] {
			t.Fatalf("port %d is claimed, and a connection got it", n)
		}
		far, err := l.Accept()
		if err == nil {
			far.Close()
		}
	}
}
