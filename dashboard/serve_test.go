package dashboard

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestServe(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, Config{}) }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	get := func(host, path string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+l.Addr().String()+path, nil)
		must(t, err)
		r.Host = host
		answer, err := client.Do(r)
		must(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	for host, want := range map[string]int{
		"localhost": 200, "localhost:" + port: 200, "127.0.0.1:" + port: 200, "[::1]:" + port: 200, "[::1]": 200, "127.0.0.2": 200,
		"evil.example": 421, "evil.example:" + port: 421, "192.0.2.1": 421, "localhost.evil.example": 421, "[::2]": 421,
	} {
		if got := get(host, "/").StatusCode; got != want {
			t.Errorf("host %s: %d, want %d", host, got, want)
		}
	}
	stream := get("localhost", "/events")
	buffer := make([]byte, 100)
	if n, err := stream.Body.Read(buffer); err != nil || !strings.HasPrefix(string(buffer[:n]), "retry:") {
		t.Errorf("the stream: %q, %v", buffer[:n], err)
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("an open stream keeps Serve from ending")
	}
}

// TestServeEndsSlowClients: no handler outlives Serve for a client that reads nothing. It is not
// parallel, as it looks at the stacks of all goroutines.
func TestServeEndsSlowClients(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, Config{}) }()
	c, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	defer c.Close()
	// The pages are more than the buffers of a connection hold.
	_, err = c.Write([]byte(strings.Repeat("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 1000)))
	must(t, err)
	stacks := make([]byte, 1<<20)
	handles := func(state string) bool {
		for g := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(g, ".onlyLoopback.") && strings.Contains(g, state) {
				return true
			}
		}
		return false
	}
	await := func(state string, want bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); handles(state) != want; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("a handler in state %q: %t", state, !want)
			}
		}
	}
	await("[IO wait", true)
	cancel()
	must(t, <-done)
	await("", false)
}

func TestServeErrors(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	if err := Serve(t.Context(), l, Config{MaxKeys: -1}); err == nil || !strings.Contains(err.Error(), "MaxKeys") {
		t.Errorf("a bad Config: %v", err)
	}
	if err := Serve(t.Context(), l, Config{}); err == nil {
		t.Error("a closed listener: no error")
	}
}
