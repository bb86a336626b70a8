// Package selfcall shows what an API answers, for the examples' -demo flag.
package selfcall

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Run serves h on a free loopback port, requests /hello once with each of the
// API keys, none where one is "", and writes what came back to w.
func Run(w io.Writer, h http.Handler, apiKeys ...string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	defer func() {
		_ = s.Close()
		<-served
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, key := range apiKeys {
		if err := request(ctx, w, client, "http://"+l.Addr().String()+"/hello", key); err != nil {
			return err
		}
	}
	return nil
}

// shown are the headers that matter here.
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
