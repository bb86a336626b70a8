// Command fleet shows that a response to one process steers a whole fleet. Three
// processes call three providers with different dialects. The providers lower their
// limits, raise them again, and then refuse all calls for a while. Every half second it
// prints the calls of each process and the refusals. At the end it prints who set each
// pause, and when the others stopped and went on.
//
//	go run ./examples/fleet
//	go run ./examples/fleet -redis redis://localhost:6379
//
// Exit codes:
//
//	1     a provider got a call in a pause, or refused one by a limit after it had
//	      announced that limit; or too little of the limits was used
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

	"github.com/goweir/weir/examples/internal/sharedredis"
)

func main() {
	if os.Getenv(workerEnv) != "" {
		os.Exit(workerMain())
	}
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
		fmt.Fprintln(stderr, "fleet:", strings.ReplaceAll(err.Error(), "\n", "; "))
		return code
	}
	if err != nil {
		return fail(exitUsage, fmt.Errorf("%w (-h explains the flags)", err))
	}
	s, err := sharedredis.Open(ctx, o.redis, "fleet")
	switch {
	case ctx.Err() != nil:
		return fail(exitInterrupted, errors.New("interrupted"))
	case err != nil:
		return fail(exitUsage, err)
	}
	defer s.Close()
	err = play(ctx, o, s, stdout)
	switch {
	case ctx.Err() != nil:
		return fail(exitInterrupted, errors.New("interrupted"))
	case err != nil:
		return fail(exitBroken, err)
	}
	return 0
}

// options are the flags.
type options struct {
	redis  string
	enough int // minimum use of the limits, in percent
}

func flags(o *options) *flag.FlagSet {
	f := flag.NewFlagSet("fleet", flag.ContinueOnError)
	f.StringVar(&o.redis, "redis", "", "`URL` of a Redis to share, as redis://user:password@host:6379/0. Its keys have\n"+
		"names of this run alone and expire within 15 minutes after it. Without this\nflag a Redis in memory is embedded.")
	f.IntVar(&o.enough, "enough", 80, "the `percent` of the providers' limits that have to be used, 0 to 100. A few\n"+
		"goroutines that wait for a busy machine can't use as much.")
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
	case o.enough < 0 || o.enough > 100:
		return o, fmt.Errorf("-enough: want 0 to 100, got %d", o.enough)
	}
	return o, nil
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Usage: fleet [flags]\n\n"+
		"Three processes call three providers on this machine, as fast as weir lets them.\n"+
		"The providers speak a dialect each, lower their limit, raise it, and refuse for a\n"+
		"while. The exit code is 1 when one was called in a pause, or refused by its limit\n"+
		"after it had said so, or not enough of the limits was used.\n\n")
	f := flags(new(options))
	f.SetOutput(w)
	f.PrintDefaults()
}
