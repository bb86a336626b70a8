package dashboard

import (
	"context"
	"net"
	"net/http"
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
