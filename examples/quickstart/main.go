// Command quickstart shows both directions of weir at work on one machine:
// four worker processes share an upstream's quota through one store, and an API
// beside them serves two customers on different plans.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -redis redis://localhost:6379
//
// It exits with 1 when the upstream saw one call too many or too little of its
// quota was used, with 2 when it can't start, with 130 when it is interrupted.
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
	"time"

	"github.com/goweir/weir/examples/internal/sharedredis"
)

func main() {
	if os.Getenv(workerEnv) != "" {
		os.Exit(workerMain())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// With the first signal handled, a second one ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const (
	exitBroken      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// run is main without the process around it, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		usage(stdout)
		return 0
	}
	fail := func(code int, err error) int {
		fmt.Fprintln(stderr, "quickstart:", strings.ReplaceAll(err.Error(), "\n", "; "))
		return code
	}
	if err != nil {
		return fail(exitUsage, fmt.Errorf("%w (-h explains the flags)", err))
	}
	s, err := sharedredis.Open(ctx, o.redis, "quickstart", limits(0)...)
	switch {
	case ctx.Err() != nil:
		return fail(exitInterrupted, errors.New("interrupted"))
	case err != nil:
		return fail(exitUsage, err)
	}
	defer s.Close()
	r, err := play(ctx, o, s, stdout)
	switch {
	case ctx.Err() != nil:
		return fail(exitInterrupted, fmt.Errorf("interrupted after %d calls, %d of them refused by the upstream", r.calls+r.refused, r.refused))
	case err != nil:
		return fail(exitBroken, err)
	}
	r.print(stdout)
	if broken := r.broken(); broken != nil {
		return fail(exitBroken, broken)
	}
	return 0
}

// options are the flags.
type options struct {
	redis    string
	duration time.Duration
	margin   time.Duration
}

const (
	shortestRun   = 6 * time.Second
	longestRun    = 40 * time.Second
	longestMargin = time.Second
)

func flags(o *options) *flag.FlagSet {
	f := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	f.StringVar(&o.redis, "redis", "", "`URL` of a Redis to share, as redis://user:password@host:6379/0. Its keys have\n"+
		"names of this run alone and expire within a minute after it. Without this\nflag a Redis in memory is embedded.")
	f.DurationVar(&o.duration, "duration", 32*time.Second, "how long the workers call, 6s to 40s. A run that would end just after the\n"+
		"upstream's window has opened is prolonged, so that the window counts in full.")
	f.DurationVar(&o.margin, "margin", 200*time.Millisecond, "what the workers' windows are longer than the upstream's, 0s to 1s. weir counts\n"+
		"departures and the upstream arrivals: when a call is late on its way and one\n"+
		"a window later is not, they arrive closer together than they left. The margin\n"+
		"has to cover that variation, on a busy machine mostly that of the scheduler.\n"+
		"More of it costs pace: 5s of windows in every 5.2s. 0s shows what happens\nwithout.")
	return f
}

// parse reads the flags. Its error is one line.
func parse(args []string) (options, error) {
	var o options
	f := flags(&o)
	f.SetOutput(io.Discard)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.duration < shortestRun || o.duration > longestRun:
		return o, fmt.Errorf("-duration: want %v to %v, got %v", shortestRun, longestRun, o.duration)
	case o.margin < 0 || o.margin > longestMargin:
		return o, fmt.Errorf("-margin: want 0s to %v, got %v", longestMargin, o.margin)
	case o.margin%time.Microsecond != 0:
		return o, fmt.Errorf("-margin: want whole microseconds, got %v", o.margin)
	}
	return o, nil
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Usage: quickstart [flags]\n\n"+
		"Four processes call an upstream on this machine that allows 25 calls per any 5s\n"+
		"and 300 per any minute, as fast as weir lets them. Beside them an API serves two\n"+
		"API keys on different plans. The exit code is 1 when the upstream saw one call\n"+
		"too many, or less than 95 % of what it allows was used.\n\n")
	f := flags(new(options))
	f.SetOutput(w)
	f.PrintDefaults()
}
