package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

// TestMain makes the test binary a worker, if the environment asks for it, as the program
// does.
func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		os.Exit(workerMain())
	}
	leaktest.Main(m)
}

func TestParse(t *testing.T) {
	t.Parallel()
	if o, err := parse(nil); o != (options{enough: 80}) || err != nil {
		t.Errorf("without flags: %+v, %v", o, err)
	}
	if o, err := parse([]string{"-redis", "redis://h", "-enough", "50"}); o != (options{"redis://h", 50}) || err != nil {
		t.Errorf("with flags: %+v, %v", o, err)
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
		{"more than all", []string{"-enough", "101"}, "-enough: want 0 to 100, got 101"},
		{"not a redis", []string{"-redis", "http://localhost"}, "-redis: weir: redisstore.Open: url: want redis://"},
		{"bad port", []string{"-redis", "redis://u:hunter2@h:x"}, "-redis: weir: redisstore.Open: url: want a URL"},
		{"no server", []string{"-redis", "redis://u:hunter2@" + unused(t)}, "the server does not answer (dial tcp"},
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
			if strings.Contains(got, "hunter2") {
				t.Errorf("the password is shown: %q", got)
			}
		})
	}
}

// unused returns an address without a listener.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestHelpExplainsEveryFlag(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"-h"}, &out, &errs); code != 0 || errs.Len() > 0 {
		t.Errorf("exit code %d, errors %q", code, errs.String())
	}
	for _, want := range []string{"-redis", "-enough", "default 80", "exit code"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
