package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/internal/redistest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// provider answers in place of the network, and counts closed bodies.
type provider struct{ closed int }

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	body := struct {
		io.Reader
		io.Closer
	}{strings.NewReader("hello\n"), closer(func() { p.closed++ })}
	return &http.Response{StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, ContentLength: 6, Body: body, Request: r}, nil
}

type closer func()

func (c closer) Close() error {
	c()
	return nil
}

// TestProgram runs the program twice, as two processes would.
func TestProgram(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("REDIS_URL", "redis://"+server.Addr)
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	p, transport, stdout := new(provider), http.DefaultTransport, os.Stdout
	http.DefaultTransport, os.Stdout = p, out
	defer func() { http.DefaultTransport, os.Stdout = transport, stdout }()
	main()
	main()
	if n := server.Commands()["evalsha"]; n < 2 {
		t.Errorf("Redis made %d decisions, want one of each run", n)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "HTTP/1.1 200 OK"); n != 2 || p.closed != 2 || out.Close() != nil {
		t.Errorf("%d bodies were closed, and printed\n%s", p.closed, text)
	}
}
