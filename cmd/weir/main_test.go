package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestMessage: an error is one line, and errors that were joined stand apart.
func TestMessage(t *testing.T) {
	t.Parallel()
	joined := fmt.Errorf("%w: see below", errors.Join(errors.New("weir: i/o timeout"), errors.New("keys are left")))
	for want, err := range map[string]error{
		"i/o timeout; keys are left: see below":            joined,
		`unknown command "topp" Did you mean this? top`:    errors.New("unknown command \"topp\"\n\nDid you mean this?\n\ttop\n\n"),
		"keys of a:1 are missing: x; keys of b:1 are gone": errors.Join(errors.New("keys of a:1 are missing: x"), errors.New("keys of b:1 are gone")),
		"": nil,
	} {
		if got := message(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestDoubleDashes: one dash may stand for two in front of a flag's name, and a value stays.
func TestDoubleDashes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ args, want string }{
		"a flag":                     {"keys -sort use", "keys --sort use"},
		"a flag with its value":      {"keys -sort=use", "keys --sort=use"},
		"a flag before the command":  {"-redis unix://a keys", "--redis unix://a keys"},
		"two dashes":                 {"keys --sort use -json", "keys --sort use --json"},
		"a value like a flag":        {"keys --contains -first -json", "keys --contains -first --json"},
		"a value like a flag, twice": {"keys -contains -contains", "keys --contains -contains"},
		"no value of a switch":       {"keys -json -sort use", "keys --json --sort use"},
		"unknown":                    {"keys -unknown -h", "keys -unknown -h"},
		"behind two dashes":          {"explain -- -json:key -json", "explain -- -json:key -json"},
		"an empty one":               {"keys  -json", "keys  --json"},
	} {
		if got := doubleDashes(newRoot(), strings.Split(tt.args, " ")); strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
