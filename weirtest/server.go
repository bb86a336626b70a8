package weirtest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// closeTimeout bounds the wait of Server.Close for handlers.
const closeTimeout = 5 * time.Second

// Server is a Provider behind a socket of the loopback interface, for tests with
// several processes. NewServer makes it: a zero Server has neither Provider nor Client.
type Server struct {
	*Provider
	// URL is the server's address, such as "http://127.0.0.1:12345".
	URL string

	server  *http.Server
	client  *http.Client
	running sync.WaitGroup // the server's loop and the requests being served
	once    sync.Once
	err     error

	mu     sync.Mutex
	closed bool // no further request may join running
}

// NewServer starts a Server on a free port. The caller closes it. The error is a
// *store.ConfigError for the wrong field, or the failure to get a port.
func NewServer(cfg ProviderConfig) (*Server, error) {
	p, err := NewProvider(cfg)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		if l, err = net.Listen("tcp6", "[::1]:0"); err != nil {
			return nil, err
		}
	}
	ctx, end := context.WithCancel(context.Background())
	s := &Server{Provider: p, URL: "http://" + l.Addr().String()}
	s.client = &http.Client{Transport: &http.Transport{}}
	s.server = &http.Server{
		ReadHeaderTimeout: time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		Handler:           http.HandlerFunc(s.serve),
	}
	s.running.Go(func() {
		defer end()
		_ = s.server.Serve(l)
	})
	return s, nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	s.ServeHTTP(w, r)
	if r.Context().Err() != nil {
		// The request was cut short. Without this panic, a client of a closing server
		// might get an empty 200.
		panic(http.ErrAbortHandler)
	}
}

// Client returns a client with connections of its own. Close closes them.
func (s *Server) Client() *http.Client { return s.client }

// Close stops listening, closes all connections and ends the contexts of requests
// being served. It waits up to 5 s for their handlers; one that still runs is an
// error. Further calls do nothing and return the same.
func (s *Server) Close() error {
	if s.server == nil {
		return &store.ConfigError{Field: "weirtest.Server", Want: "one made by NewServer", Got: "a zero one"}
	}
	s.once.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		_ = s.server.Close()
		s.client.CloseIdleConnections()
		done := make(chan struct{})
		go func() {
			s.running.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(closeTimeout):
			s.err = errors.New("weirtest: a handler had not ended 5 s after its context")
		}
	})
	return s.err
}
