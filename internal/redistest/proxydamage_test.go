package redistest

import (
	"errors"
	"testing"
	"time"
)

func TestProxyThrottle(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, Start(t).Addr)
	conn := dial(t, p)
	wantPong(t, conn)
	p.Set(Throttle(100))
	start := time.Now()
	wantPong(t, conn)
	if took, want := time.Since(start), time.Duration(len(ping)+len(pong))*10*time.Millisecond; took < want {
		t.Errorf("a round trip took %v, want at least %v", took, want)
	}
	p.Set(Throttle(1))
	if got, err := exchange(t, conn, faultTimeout); !isTimeout(err) {
		t.Errorf("reply %q, %v; want a timeout", got, err)
	}
}

func TestProxyCorrupt(t *testing.T) {
	t.Parallel()
	s := Start(t)
	for n, want := range []string{"???????", "+??????", "+P?????"} {
		p := NewProxy(t, s.Addr)
		conn := dial(t, p)
		wantPong(t, conn)
		p.Set(Corrupt(n))
		for range 2 {
			if got, err := exchange(t, conn, patience); got != want || err != nil {
				t.Errorf("reply %q, %v; want %q", got, err, want)
			}
			want = "???????"
		}
		p.Set(Pass)
		wantPong(t, conn)
		conn.Close()
		await(t, "a closed connection stays", func() error {
			if p.Open() != 0 {
				return errors.New("open")
			}
			return nil
		})
	}
}
