package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// runDemo sends visitors to the proxy, and one past it, and prints their answers. All
// connections are real ones on this machine, with other addresses.
func runDemo(out io.Writer) error {
	app, err := newApp(netip.MustParsePrefix("10.0.0.0/8"))
	if err != nil {
		return err
	}
	inside, err := newStreet()
	if err != nil {
		return err
	}
	defer serveOn(inside, app)()
	outside, err := newStreet()
	if err != nil {
		return err
	}
	proxy := newProxy(&url.URL{Scheme: "http", Host: inside.Addr().String()}, inside.dialer("10.0.0.1"))
	defer proxy.Transport.(*http.Transport).CloseIdleConnections()
	defer serveOn(outside, proxy)()

	d := &tour{out: out, to: outside}
	d.says("The proxy calls the app from 10.0.0.1. Visitors have 2 requests per minute each:")
	d.get("203.0.113.7", "/hello")
	d.get("203.0.113.7", "/hello")
	d.get("203.0.113.7", "/hello")
	d.get("203.0.113.8", "/hello")
	d.says("Headers that a visitor writes are no way around that, and take nothing from other visitors:")
	d.get("203.0.113.7", "/hello", "X-Forwarded-For", "198.51.100.1")
	d.get("203.0.113.7", "/hello", "X-Forwarded-For", "198.51.100.1, 10.0.0.1")
	d.get("203.0.113.7", "/hello", "Forwarded", "for=198.51.100.1")
	d.get("203.0.113.7", "/hello", "X-Real-IP", "198.51.100.1")
	d.get("198.51.100.1", "/hello")
	d.says("Neither are the other addresses of an IPv6 network. The next network has its own requests:")
	d.get("2001:db8:0:1::a", "/hello")
	d.get("2001:db8:0:1::b", "/hello")
	d.get("2001:db8:0:1:c::", "/hello")
	d.get("2001:db8:0:2::a", "/hello")
	d.says("Users have an allowance each, though they share an address, or have many:")
	for range 3 {
		d.get("203.0.113.9", "/feed", "ann", "pelican-92")
	}
	d.get("203.0.113.10", "/feed", "ann", "pelican-92")
	d.get("203.0.113.9", "/feed", "bob", "walrus-17")
	d.get("203.0.113.9", "/feed")
	d.says("Past the proxy no header counts:")
	d.to = inside
	d.get("203.0.113.7", "/hello", "X-Forwarded-For", "198.51.100.2")
	return d.err
}

// serveOn serves until stop is called.
func serveOn(s *street, h http.Handler) (stop func()) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(s) }()
	return func() {
		_ = server.Close()
		<-served
	}
}

// tour makes requests and prints the answers. After an error it makes none.
type tour struct {
	out io.Writer
	to  *street
	err error
}

func (t *tour) says(text string) { fmt.Fprintf(t.out, "\n%s\n\n", text) }

// get makes a request from an address, with a header, or with a user's name and password.
func (t *tour) get(from, path string, with ...string) {
	if t.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://app.example"+path, http.NoBody)
	if err != nil {
		t.err = err
		return
	}
	what := "GET " + path
	switch {
	case len(with) > 0 && passwords[with[0]] != "":
		req.SetBasicAuth(with[0], with[1])
		what += ", as " + with[0]
	case len(with) > 0:
		req.Header.Set(with[0], with[1])
		what += ", " + with[0] + ": " + with[1]
	}
	client := &http.Client{Transport: &http.Transport{DialContext: t.to.dialer(from), DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.err = err
		return
	}
	_ = resp.Body.Close()
	fmt.Fprintf(t.out, "  %-17s %-52s %d  %s\n", from, what, resp.StatusCode, resp.Header.Get("RateLimit"))
}
