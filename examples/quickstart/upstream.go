package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// upstream is the provider that the workers call. It keeps to its allowances by
// its own clock, at the instant at which a call reaches its handler, and knows
// nothing of weir.
type upstream struct {
	start time.Time

	mu       sync.Mutex
	ledger   ledger
	arrivals []time.Duration // refused calls too
	refused  int
}

func newUpstream(allowances []allowance) *upstream {
	return &upstream{start: time.Now(), ledger: ledger{allowances: allowances}}
}

// ServeHTTP answers 200, or 429 to a call too many, which is not counted.
func (u *upstream) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if wait := u.arrive(); wait > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
		http.Error(w, "too many calls", http.StatusTooManyRequests)
		return
	}
	_, _ = io.WriteString(w, "done\n") // a worker that is gone needs no answer
}

// arrive decides about a call that arrives now, and returns how much too early
// it is.
func (u *upstream) arrive() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	// Read under the lock, so that the ledger is in order.
	now := time.Since(u.start)
	u.arrivals = append(u.arrivals, now)
	if u.ledger.admit(now) {
		return 0
	}
	u.refused++
	return u.ledger.earliest() - now
}

// counts returns how many calls were admitted and refused so far.
func (u *upstream) counts() (admitted, refused int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.ledger.admitted), u.refused
}

// seen returns when calls arrived.
func (u *upstream) seen() []time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.arrivals)
}

// server is an HTTP server on a free loopback port.
type server struct {
	url  string
	http *http.Server
	done chan struct{}
}

func serve(h http.Handler) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("can't listen: %w", err)
	}
	s := &server{
		url:  "http://" + l.Addr().String(),
		http: &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second},
		done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // always http.ErrServerClosed, after close
	}()
	return s, nil
}

// close lets the requests in progress finish, but not for long.
func (s *server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	<-s.done
}
