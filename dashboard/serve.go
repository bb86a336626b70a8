package dashboard

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Serve serves the page of a Config at the root of a listener until ctx ends, for
// programs that do nothing else. It closes the listener. It returns an error of [New] or
// of the listener, or nil after the end of ctx.
//
// Serve does not authenticate: listen on a loopback address. It then refuses requests for
// other hosts, as a site may point its name at this machine to read the page.
func Serve(ctx context.Context, l net.Listener, cfg Config) error {
	d, err := New(cfg)
	if err != nil {
		_ = l.Close()
		return err
	}
	defer d.Close()
	server := &http.Server{Handler: d, ReadHeaderTimeout: 10 * time.Second}
	if address, err := netip.ParseAddrPort(l.Addr().String()); err == nil && address.Addr().IsLoopback() {
		server.Handler = onlyLoopback(d)
	}
	// Shutdown would wait for clients that read nothing.
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err = server.Serve(l); errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// onlyLoopback refuses requests whose Host does not name this machine.
func onlyLoopback(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		if address, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !address.IsLoopback()) {
			http.Error(w, "want a loopback address or localhost as the host", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}
