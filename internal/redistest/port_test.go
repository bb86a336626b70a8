package redistest

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestClaim(t *testing.T) {
	t.Parallel()
	p, err := claimAny(false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.release()
	for range 3 {
		if _, err := net.Dial("tcp", address(p.number)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("connecting to a claimed port: %v, want it refused", err)
		}
		l, err := net.Listen("tcp", address(p.number))
		if err != nil {
			t.Fatalf("listening on a claimed port: %v", err)
		}
		if _, err := claim(p.number); err == nil {
			t.Error("a port that somebody listens on can be claimed")
		}
		conn, err := net.Dial("tcp", address(p.number))
		if err != nil {
			t.Errorf("connecting to a claimed port with a listener: %v", err)
		} else {
			conn.Close()
		}
		l.Close()
	}
}

func TestClaimWithBus(t *testing.T) {
	t.Parallel()
	for range 20 {
		p, err := claimAny(true)
		if err != nil {
			t.Fatal(err)
		}
		defer p.release()
		for _, number := range []int{p.number, p.number + busOffset} {
			l, err := net.Listen("tcp", address(number))
			if err != nil {
				t.Errorf("listening on a claimed port: %v", err)
				continue
			}
			l.Close()
		}
	}
}
