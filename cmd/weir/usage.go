package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

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
	return &exit{exitUsage, advice{err, do}}
}
