package redistest

import (
	"errors"
	"fmt"
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
		// A child that another test starts has this process's listeners until it runs its
		// program.
		await(t, "a claimed port that refuses connections", func() error {
			conn, err := net.Dial("tcp", address(p.number))
			if err == nil {
				conn.Close()
			}
			if !errors.Is(err, syscall.ECONNREFUSED) {
				return fmt.Errorf("connecting to a claimed port: %w, want it refused", err)
			}
			return nil
		})
		l, err := net.Listen("tcp", address(p.number))
		if err != nil {
			t.Fatalf("listening on a claimed port: %v", err)
		}
		if _, err := claim(p.number); err == nil {
			t.Error("a port with a listener can be claimed")
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
