package httpcases

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// listen starts a server that speaks a version of HTTP.
func listen(t *testing.T, version int, h http.Handler) *httptest.Server {
	srv := httptest.NewUnstartedServer(h)
	if version == 2 {
		srv.EnableHTTP2 = true
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv
}

// serve starts a server that admits one request.
type serve func(h http.HandlerFunc) *httptest.Server

func call(t *testing.T, srv *httptest.Server, body io.Reader, contentType string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/things", body)
	must(t, err)
	r.Header.Set("X-User", "ann")
	r.Header.Set("Content-Type", contentType)
	resp, err := srv.Client().Do(r)
	must(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// testDuplex answers each line of the body before the next one is sent.
func testDuplex(t *testing.T, start serve) {
	srv := start(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if err := c.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusOK)
		_ = c.Flush()
		for lines := bufio.NewReader(r.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(w, "echo "+line)
			_ = c.Flush()
		}
	})
	body, send := io.Pipe()
	resp := call(t, srv, body, "")
	from := bufio.NewReader(resp.Body)
	for _, line := range []string{"one\n", "two\n"} {
		_, _ = io.WriteString(send, line)
		if got, err := from.ReadString('\n'); got != "echo "+line || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
	}
	_ = send.Close()
	if rest, err := io.ReadAll(from); len(rest) > 0 || err != nil {
		t.Errorf("read %q, %v", rest, err)
	}
}

// testWriteDeadline checks that a deadline which a handler sets is heeded.
func testWriteDeadline(t *testing.T, start serve) {
	srv := start(func(w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		_, _ = io.WriteString(w, "one")
		if err := errors.Join(c.Flush(), c.SetWriteDeadline(time.Now().Add(-time.Hour))); err != nil {
			t.Error(err)
		}
		_, _ = w.Write(make([]byte, 1<<20))
		_ = c.Flush()
	})
	resp := call(t, srv, nil, "")
	if n, err := io.Copy(io.Discard, resp.Body); err == nil || n >= 1<<20 {
		t.Errorf("read %d bytes, %v, past the deadline", n, err)
	}
}

// testFiles serves a part of a file.
func testFiles(t *testing.T, start serve) {
	path := filepath.Join(t.TempDir(), "file")
	content := bytes.Repeat([]byte("0123456789"), 300_000)
	must(t, os.WriteFile(path, content, 0o600))
	srv := start(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Range", "bytes=5-2999990")
		r.Method = http.MethodGet
		http.ServeFile(w, r, path)
	})
	resp := call(t, srv, nil, "")
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusPartialContent || !bytes.Equal(got, content[5:2999991]) {
		t.Errorf("status %d, %d bytes, %v", resp.StatusCode, len(got), err)
	}
}

// testUpgrade switches to another protocol, as a WebSocket does.
func testUpgrade(t *testing.T, start serve) {
	upgrade(t, start(echoes))
}

// testProxiedUpgrade switches protocols through net/http's own proxy behind the
// middleware.
func testProxiedUpgrade(t *testing.T, start serve) {
	backend := httptest.NewServer(http.HandlerFunc(echoes))
	t.Cleanup(backend.Close)
	target, err := url.Parse(backend.URL)
	must(t, err)
	upgrade(t, start(httputil.NewSingleHostReverseProxy(target).ServeHTTP))
}

// echoes switches protocols and echoes lines.
func echoes(w http.ResponseWriter, r *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
	_ = rw.Flush()
	for {
		line, err := rw.ReadString('\n')
		if err != nil {
			return
		}
		_, _ = rw.WriteString("echo " + line)
		_ = rw.Flush()
	}
}

func upgrade(t *testing.T, srv *httptest.Server) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/things", nil)
	must(t, err)
	for name, value := range map[string]string{"X-User": "ann", "Connection": "Upgrade", "Upgrade": "websocket"} {
		r.Header.Set(name, value)
	}
	resp, err := srv.Client().Do(r)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	conn, ok := resp.Body.(io.ReadWriter)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		t.Fatalf("status %d, can write %t", resp.StatusCode, ok)
	}
	from := bufio.NewReader(conn)
	for _, line := range []string{"one\n", "two\n"} {
		_, _ = io.WriteString(conn, line)
		if got, err := from.ReadString('\n'); got != "echo "+line || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
	}
}
