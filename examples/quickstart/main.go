// Command quickstart sends one load twice to a provider on this machine, which allows 10
// calls per any 2 seconds: first without weir, then with it. It draws the served and
// refused calls over time, and the used units of the provider's window.
//
//	go run ./examples/quickstart
//
// Exit codes:
//
//	1     the provider refused a call with weir, or too little of its limit was used
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

	"github.com/goweir/weir/weirtest"
)

func main() {
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
	windows, err := parse(args)
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
	r, err := play(ctx, loopback, windows, &chart{w: stdout, colour: isTerminal(stdout)})
	switch {
	case ctx.Err() != nil:
		return fail(exitInterrupted, errors.New("interrupted"))
	case err != nil:
		return fail(exitUsage, err)
	}
	r.print(stdout)
	if broken := r.broken(); broken != nil {
		return fail(exitBroken, broken)
	}
	return 0
}

// A run is a second shorter than its windows. Within these bounds the margins of all
// windows fit into that second, so weir opens as many windows as the provider.
const (
	minWindows = 2
	maxWindows = 7
)

func flags(windows *int) *flag.FlagSet {
	f := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	f.IntVar(windows, "windows", 5, "how many of the provider's windows each of the two runs sees: 2 to 7. A run\nlasts 2s for each, less 1s.")
	return f
}

// parse reads the flags. Its error is one line.
func parse(args []string) (windows int, err error) {
	f := flags(&windows)
	f.SetOutput(io.Discard)
	if err := f.Parse(args); err != nil {
		return 0, err
	}
	switch {
	case f.NArg() > 0:
		return 0, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case windows < minWindows || windows > maxWindows:
		return 0, fmt.Errorf("-windows: want %d to %d, got %d", minWindows, maxWindows, windows)
	}
	return windows, nil
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Usage: quickstart [flags]\n\n"+
		"Four workers call a provider on this machine that allows 10 calls per any 2s,\n"+
		"first without weir, then with it. The exit code is 1 when the provider refused a\n"+
		"call with weir, or when less than 95 % of the allowed calls were used.\n\n")
	f := flags(new(int))
	f.SetOutput(w)
	f.PrintDefaults()
}

// isTerminal reports whether w is a terminal that shows colours.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// loopback starts the provider behind a socket.
func loopback(cfg weirtest.ProviderConfig) (*provider, error) {
	s, err := weirtest.NewServer(cfg)
	if err != nil {
		return nil, err
	}
	return &provider{s.Provider, s.URL, s.Client().Transport, s.Close}, nil
}
