package main

import (
	"errors"
	"fmt"
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
