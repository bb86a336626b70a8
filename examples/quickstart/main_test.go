package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/leaktest"
)

// TestMain lets the test binary be a worker, as the program itself is.
func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		os.Exit(workerMain())
	}
	leaktest.Main(m)
}

func TestParse(t *testing.T) {
	t.Parallel()
	o, err := parse(nil)
	if err != nil || o != (options{duration: 32 * time.Second, margin: 200 * time.Millisecond}) {
		t.Errorf("without flags: %+v, %v", o, err)
	}
	o, err = parse([]string{"-redis", "redis://h", "-duration", "40s", "-margin", "0s"})
	if err != nil || o != (options{redis: "redis://h", duration: 40 * time.Second}) {
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
		{"no duration", []string{"-duration", "soon"}, "-duration"},
		{"short", []string{"-duration", "5s"}, "-duration: want 6s to 40s, got 5s"},
		{"long", []string{"-duration", "41s"}, "-duration: want 6s to 40s, got 41s"},
		{"negative margin", []string{"-margin", "-1ms"}, "-margin: want 0s to 1s, got -1ms"},
		{"wide margin", []string{"-margin", "2s"}, "-margin: want 0s to 1s, got 2s"},
		{"fine margin", []string{"-margin", "1ns"}, "-margin: want whole microseconds, got 1ns"},
		{"not a redis", []string{"-redis", "http://localhost"}, "-redis: redis: invalid URL scheme: http"},
		{"bad port", []string{"-redis", "redis://u:hunter2@h:x"}, "-redis: invalid port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			oneLine(t, c.args, c.want)
		})
	}
}

func TestRunRefusesAnUnreachableRedis(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	oneLine(t, []string{"-redis", "redis://u:hunter2@" + addr}, "redis at "+addr+" makes no decisions: dial tcp "+addr)
}

// oneLine expects a run that fails with one line that contains want.
func oneLine(t *testing.T, args []string, want string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), args, &out, &errs); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	got := errs.String()
	if out.Len() > 0 || strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\n") || !strings.Contains(got, want) {
		t.Errorf("printed %q and %q, want nothing and one line with %q", out.String(), got, want)
	}
	if strings.Contains(got, "hunter2") {
		t.Errorf("the password is shown: %q", got)
	}
}

func TestHelpExplainsEveryFlag(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"-h"}, &out, &errs); code != 0 || errs.Len() > 0 {
		t.Errorf("exit code %d, errors %q", code, errs.String())
	}
	for _, want := range []string{"-redis", "-duration", "-margin", "exit code", "default 32s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
