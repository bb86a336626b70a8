package storetest_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/internal/modelstore"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/storetest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// mistake is a way to get a store wrong, and the case of the suite that finds it.
type mistake struct {
	name, found string
	spoil       func(s *model) store.Store
}

var mistakes = slices.Concat(decisionMistakes, numberMistakes, limitMistakes, waitingMistakes, brakeMistakes, inFlightMistakes, settlingMistakes, restoreMistakes)

// which is the environment variable with the name of a child process's store.
const which = "WEIR_TEST_BROKEN_STORE"

// TestBrokenStore runs in child processes of the tests below.
func TestBrokenStore(t *testing.T) {
	name := os.Getenv(which)
	for _, m := range mistakes {
		if m.name == name {
			storetest.Run(t, func(t *testing.T) store.Store { return m.spoil(modelstore.New()) })
			return
		}
	}
	if name != "" {
		t.Skip("there is no store ", name) // So the test that looks for a failure fails.
	}
}

// TestSuiteFindsMistakes runs the suite on stores with one mistake each. It must fail in the
// case about the mistake, and must not run for ever.
func TestSuiteFindsMistakes(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			name := strings.ReplaceAll(m.found, " ", "_")
			cmd := exec.Command(exe, "-test.run=^TestBrokenStore$/^"+name+"$", "-test.v", "-test.timeout=2m")
			cmd.Env = append(os.Environ(), which+"="+m.name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestBrokenStore/"+name+" ") {
				t.Errorf("%q did not fail: %v\n%.2000s", m.found, err, out)
			}
		})
	}
}

// TestSuitePasses on a store without mistakes, and on stores with fewer abilities.
func TestSuitePasses(t *testing.T) {
	t.Parallel()
	for name, as := range map[string]func(s *model) store.Store{
		"a store":                   func(s *model) store.Store { return s },
		"one that can only take":    func(s *model) store.Store { return struct{ store.Store }{s} },
		"one that takes of one key": func(s *model) store.Store { return oneKey{s} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) store.Store { return as(modelstore.New()) })
		})
	}
}

// oneKey refuses charges of several keys, as a store on a cluster may.
type oneKey struct{ *model }

func (s oneKey) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	for i := range req.Charges {
		if req.Charges[i].Key != req.Charges[0].Key {
			return store.Decision{}, store.ErrUnsupported
		}
	}
	return s.model.Take(ctx, req)
}
