package httpcases

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"X-User": "ann", "Connection": "Upgrade", "Upgrade": "websocket"} {
		r.Header.Set(name, value)
	}
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
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
