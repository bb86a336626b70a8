// Command outage shows that an outage of Redis is boring. It kills, hangs and restarts
// its own Redis under an API with about 200 requests a second. Each second it prints the
// number of decisions by Redis and by the replicas, the admitted requests against the
// promise, and the latency.
//
//	go run ./examples/outage
//	go run ./examples/outage -real
//
// Exit codes:
//
//	1     a request was lost or got a 5xx, or more was admitted than promised
//	2     it can't start
//	130   it was interrupted
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

func main() {
	redis.SetLogger(silent{}) // the changes of state say the same
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal is handled. A second one ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const (
	exitBroken      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// run is main without the process, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		usage(stdout)
		return 0
	}
	fail := func(code int, err error) int {
		fmt.Fprintln(stderr, "outage:", strings.ReplaceAll(err.Error(), "\n", "; "))
		return code
	}
	if err != nil {
		return fail(exitUsage, fmt.Errorf("%w (-h explains the flags)", err))
	}
	server, err := openRedis(o)
	if err != nil {
		return fail(exitUsage, err)
	}
	defer server.close()
	r, err := newPlay(o, server)
	if err != nil {
		return fail(exitUsage, err)
	}
	defer r.close()
	err = r.run(ctx, stdout)
	switch {
	case ctx.Err() != nil:
		return fail(exitInterrupted, fmt.Errorf("interrupted after %s", r.meter.summary()))
	case err != nil:
		return fail(exitBroken, err)
	}
	r.report(stdout)
	if broken := r.broken(); broken != nil {
		return fail(exitBroken, broken)
	}
	return 0
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
