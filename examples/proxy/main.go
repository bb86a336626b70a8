// Command proxy is an app behind a reverse proxy. The app limits its visitors by the
// addresses that the proxy sees.
//
//	go run ./examples/proxy
//	curl -i http://127.0.0.1:8080/hello
//	curl -i -H 'X-Forwarded-For: 192.0.2.1' http://127.0.0.1:8080/hello
//	curl -i -u ann:pelican-92 http://127.0.0.1:8080/feed
//
// With -demo it plays visitors from many addresses, and shows their answers.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"time"
)

var (
	addr    = flag.String("addr", "127.0.0.1:8080", "where the proxy listens")
	appAddr = flag.String("app", "127.0.0.1:8081", "where the app listens")
	// The proxy has its own address, as a trusted address must belong to no client, not
	// even to the curl above. On macOS: ifconfig lo0 alias 127.0.0.2
	proxyIP = flag.String("proxy", "127.0.0.2", "the `address` that the proxy calls the app from")
	demo    = flag.Bool("demo", false, "show what visitors see, and exit")
)

func main() {
	flag.Parse()
	run := serve
	if *demo {
		run = func() error { return runDemo(os.Stdout) }
	}
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// serve runs the app and the proxy, until one fails.
func serve() error {
	from, err := netip.ParseAddr(*proxyIP)
	if err != nil {
		return fmt.Errorf("-proxy: %w", err)
	}
	app, err := newApp(netip.PrefixFrom(from, from.BitLen()))
	if err != nil {
		return err
	}
	dialer := &net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	proxy := newProxy(&url.URL{Scheme: "http", Host: *appAddr}, dialer.DialContext)
	log.Printf("the proxy is http://%s, and the app is http://%s; GET /hello, GET /feed", *addr, *appAddr)
	failed := make(chan error, 2)
	for at, handler := range map[string]http.Handler{*appAddr: app, *addr: proxy} {
		server := &http.Server{Addr: at, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		go func() { failed <- server.ListenAndServe() }()
	}
	return <-failed
}
