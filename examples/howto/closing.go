package howto

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/goweir/weir"
)

// Serve serves until ctx ends, as by SIGTERM. Requests under way then have the grace to
// end. After the grace, calls that still wait give their slots back, and their handlers
// answer. Handlers call the provider with the context of their request.
func Serve(ctx context.Context, server *http.Server, l net.Listener, grace time.Duration) error {
	requests, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	server.BaseContext = func(net.Listener) context.Context { return requests }
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	defer time.AfterFunc(grace, giveUp).Stop()
	last, cancel := context.WithTimeout(context.Background(), grace+5*time.Second)
	defer cancel()
	return server.Shutdown(last)
}

// RunJob runs a job in its turn. If ctx ends first, the job is not run and its slot is given
// back. A job that has begun goes on to its end.
func RunJob(ctx context.Context, limiter *weir.Limiter, key string, run func(context.Context) error) error {
	return limiter.Do(ctx, key, func(ctx context.Context) error { return run(context.WithoutCancel(ctx)) })
}
