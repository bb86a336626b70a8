package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
)

// The exit codes. See help.
const (
	exitFound = 1
	exitUsage = 2
	exitAway  = 3
)

// exit is an error with an exit code. A nil error prints nothing.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// failed gives an error of Redis or of weir its exit code and advice.
func failed(err error) error {
	switch {
	case err == nil:
		return nil
	case is[*weir.ConfigError](err), errors.Is(err, weir.ErrNoKey):
		return &exit{exitUsage, err}
	case is[*fs.PathError](err): // The disk is full, or the reader of a pipe has ended.
		return &exit{exitFound, err}
	case errors.Is(err, context.Canceled):
		return &exit{exitFound, errors.New("interrupted")}
	case errors.Is(err, redisstore.ErrState):
		return &exit{exitFound, fmt.Errorf("%w: weir reset KEY clears the key", err)}
	case redis.HasErrorPrefix(err, "NOPERM"):
		return &exit{exitAway, fmt.Errorf("%w: docs/command.md has the commands that the user needs", err)}
	case is[redis.Error](err):
		return &exit{exitAway, fmt.Errorf("%w: weir doctor says what is wrong", err)}
	}
	return &exit{exitAway, fmt.Errorf("%w: is --redis right and Redis up? weir doctor says more", err)}
}

func code(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exit](err); ok {
		return e.code
	}
	return exitUsage // of cobra and simulate
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// between is the place between two joined errors. The advice of cobra has other lines.
var between = regexp.MustCompile(`(\S)\n(\S)`)

// message returns an error in one line, without the name of the program.
func message(err error) string {
	if err == nil {
		return ""
	}
	text := between.ReplaceAllString(err.Error(), "$1; $2")
	return printable(strings.TrimPrefix(strings.Join(strings.Fields(text), " "), "weir: "))
}

// arguments refuses a wrong number of arguments. A command's Use names each.
func arguments(c *cobra.Command, args []string) error {
	if len(args) == len(strings.Fields(c.Use))-1 {
		return nil
	}
	return misused(c, fmt.Errorf("want weir %s, got %s", c.Use, plural(len(args), "argument")))
}

// misused gives an error of a flag or an argument its advice.
func misused(c *cobra.Command, err error) error {
	do := "see " + c.CommandPath() + " --help"
	if what, alike, ok := strings.Cut(err.Error(), "Did you mean this?"); ok { // of cobra
		err = errors.New(strings.TrimSpace(what))
		do = "did you mean " + strings.Join(strings.Fields(alike), " or ") + "? See " + c.CommandPath() + " --help"
	}
	if strings.Contains(err.Error(), "unknown shorthand flag") && strings.Contains(c.Use, "KEY") {
		do += ", and put -- before a KEY that starts with -"
	}
	return &exit{exitUsage, fmt.Errorf("%w: %s", err, do)}
}
