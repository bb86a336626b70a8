// Command weir works with limits: it looks into Redis, stops and frees keys, finds
// faults, measures, and simulates.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
)

func main() {
	redis.SetLogger(silent{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // A second signal ends the program at once.
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// silent drops the log of go-redis: errors say the same in one line.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// run runs the command, and returns its exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	root := newRoot()
	root.SetArgs(doubleDashes(root, args))
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	ran, err := root.ExecuteContextC(ctx)
	if _, done := errors.AsType[*exit](err); err != nil && ran == root && !done { // There is no such command.
		err = misused(root, err)
	}
	if text := message(err); text != "" {
		fmt.Fprintln(errs, "weir:", text)
	}
	return code(err)
}

const help = `Looks into Redis, stops and frees keys, finds faults, measures, and simulates.

  --redis     URL of Redis, as redisstore.Open takes it. Without the flag: the
              environment variable WEIR_REDIS, or else redis://localhost:6379.
              Prefer the variable for a URL with a password.
  KEY         as weir keys shows it: LIMITER:KEY, as api:user:1. Spaces, braces
              and other special characters may stand for themselves, a colon of
              the limiter is %3A. The name in Redis, weir:{api:user:1}, will do.
  --limit     25/5s, 25/5s,burst=50 or 25/5s,sliding_window; it may come again

Exit codes:

  0  all is well
  1  there are findings, a call would be refused, a key holds something else,
     the output can't be written, or the command was interrupted
  2  a wrong flag or argument
  3  Redis is away, or denies a command`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use: "weir", Short: "Look after limits", Long: help, Version: version(),
		SilenceUsage: true, SilenceErrors: true,
	}
	root.SetFlagErrorFunc(misused)
	root.AddGroup(&cobra.Group{ID: "look", Title: "Look:"}, &cobra.Group{ID: "act", Title: "Act:"}, &cobra.Group{ID: "test", Title: "Test:"})
	for group, commands := range map[string][]*cobra.Command{
		"look": {newKeys(), newExplain(), newPeek(), newTop(), newDash()},
		"act":  {newPause(), newResume(), newReset()},
		"test": {newDoctor(), newBench(), newSimulate()},
	} {
		for _, c := range commands {
			c.GroupID, c.Args = group, arguments
			root.AddCommand(c)
		}
	}
	return root
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// doubleDashes lets -redis stand for --redis, as package flag does, and so for each flag
// of the commands. It leaves values alone.
func doubleDashes(root *cobra.Command, args []string) []string {
	all := new(cobra.Command).Flags()
	for _, c := range root.Commands() {
		all.AddFlagSet(c.Flags())
	}
	args = slices.Clone(args)
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, _, set := strings.Cut(args[i], "=")
		flag := all.Lookup(strings.TrimLeft(name, "-"))
		if flag == nil || name == flag.Name {
			continue
		}
		if name == "-"+flag.Name {
			args[i] = "-" + args[i]
		}
		if !set && flag.NoOptDefVal == "" {
			i++ // The next argument is the value.
		}
	}
	return args
}
