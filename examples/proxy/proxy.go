package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// newProxy returns a reverse proxy in front of the app. It appends the client's address
// to X-Forwarded-For, and keeps the client's own text there. Most proxies do so: nginx
// with $proxy_add_x_forwarded_for, and the load balancers of AWS and Google.
func newProxy(app *url.URL, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: &http.Transport{DialContext: dial},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(app)
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
		},
	}
}
