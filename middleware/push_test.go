package middleware_test

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

// TestPush checks that a handler can push over HTTP/2. net/http's client refuses pushes,
// so the test reads frames (RFC 9113).
func TestPush(t *testing.T) {
	t.Parallel()
	for name, settle := range map[string]func(*http.Request, middleware.Outcome) int64{"limited": nil, "settled": middleware.OnlyFailures} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit, err := middleware.New(middleware.Config{
				Limiter: httpcases.NewLimiter(t, httpcases.NewCounting().Store, weir.PerHour(1)),
				Key:     weir.KeyStatic("all"), Settle: settle,
			})
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewUnstartedServer(limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					return // the pushed request; the unit of the first is free again by now
				}
				if p, ok := w.(http.Pusher); !ok {
					t.Error("can't push")
				} else if err := p.Push("/style.css", nil); err != nil {
					t.Error(err)
				}
			})))
			srv.EnableHTTP2 = true
			srv.StartTLS()
			t.Cleanup(srv.Close)
			if !pushed(t, srv) {
				t.Error("nothing was pushed")
			}
		})
	}
}

// pushed makes a request and reports whether the server pushes before its answer has
// ended.
func pushed(t *testing.T, srv *httptest.Server) bool {
	t.Helper()
	const (
		headers     = 1
		settings    = 4
		pushPromise = 5
		endStream   = 1
		endHeaders  = 4
	)
	roots := srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}, ServerName: "example.com"}}
	conn, err := dialer.DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var fields []byte // as literals that are not indexed (RFC 7541)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "example.com"}, {":path", "/"}} {
		fields = append(fields, 0, byte(len(f[0])))
		fields = append(append(fields, f[0]...), byte(len(f[1])))
		fields = append(fields, f[1]...)
	}
	hello := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 0, 0, 0, settings, 0, 0, 0, 0, 0)
	hello = append(hello, 0, 0, byte(len(fields)), headers, endStream|endHeaders, 0, 0, 0, 1)
	if _, err := conn.Write(append(hello, fields...)); err != nil {
		t.Fatal(err)
	}
	promised := false
	for {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			t.Fatal(err)
		}
		length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, conn, length); err != nil {
			t.Fatal(err)
		}
		stream := binary.BigEndian.Uint32(head[5:])
		switch kind, flags := head[3], head[4]; {
		case kind == pushPromise && stream == 1:
			promised = true
		case kind <= headers && stream == 1 && flags&endStream != 0:
			return promised
		}
	}
}
