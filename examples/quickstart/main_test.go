package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want int
	}{{nil, 5}, {[]string{"-windows", "2"}, 2}, {[]string{"-windows=7"}, 7}} {
		if got, err := parse(c.args); got != c.want || err != nil {
			t.Errorf("%q: got %d, %v; want %d", c.args, got, err, c.want)
		}
	}
}

func TestRunRefusesWrongUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown flag", []string{"-frob"}, "-frob"},
		{"argument", []string{"frob"}, `unexpected argument "frob"`},
		{"no number", []string{"-windows", "some"}, "-windows"},
		{"too few", []string{"-windows", "1"}, "-windows: want 2 to 7, got 1"},
		{"too many", []string{"-windows", "8"}, "-windows: want 2 to 7, got 8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			if code := run(context.Background(), c.args, &out, &errs); code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
			}
			got := errs.String()
			if out.Len() > 0 || strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\n") || !strings.Contains(got, c.want) {
				t.Errorf("printed %q and %q, want nothing and one line with %q", out.String(), got, c.want)
			}
		})
	}
}

func TestHelpExplainsEveryFlag(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"-h"}, &out, &errs); code != 0 || errs.Len() > 0 {
		t.Errorf("exit code %d, errors %q", code, errs.String())
	}
	for _, want := range []string{"-windows", "exit code", "default 5"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
