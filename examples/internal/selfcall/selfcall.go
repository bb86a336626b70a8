// Package selfcall shows the answers of an API, for the examples' -demo flag.
package selfcall

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Serve serves h on a free loopback port. It returns the URL, a client, and a function
// that ends both.
func Serve(h http.Handler) (url string, client *http.Client, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, nil, err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	client = &http.Client{Transport: &http.Transport{}}
	return "http://" + l.Addr().String(), client, func() {
		client.CloseIdleConnections()
		_ = s.Close()
		<-served
	}, nil
}

// Run serves h on a free loopback port. It requests /hello once with each API key,
// without a key for "", and writes the answers to w.
func Run(w io.Writer, h http.Handler, apiKeys ...string) error {
	url, client, stop, err := Serve(h)
	if err != nil {
		return err
	}
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, key := range apiKeys {
		if err := request(ctx, w, client, url+"/hello", key); err != nil {
			return err
		}
	}
	return nil
}

// shown are the headers in the output.
var shown = []string{"RateLimit-Policy", "RateLimit", "Retry-After"}

func request(ctx context.Context, w io.Writer, client *http.Client, url, key string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "> GET /hello")
	if key != "" {
		req.Header.Set("X-API-Key", key)
		fmt.Fprintln(w, "> X-API-Key:", key)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	fmt.Fprintln(w, "<", resp.Status)
	for _, name := range shown {
		if v := resp.Header.Get(name); v != "" {
			fmt.Fprintf(w, "< %s: %s\n", name, v)
		}
	}
	body, err := io.ReadAll(resp.Body)
	fmt.Fprintf(w, "%s\n", body)
	return err
}
