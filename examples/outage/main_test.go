package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	leaktest.Main(m)
}

func TestParse(t *testing.T) {
	t.Parallel()
	o, err := parse(nil)
	if want := (options{duration: 24 * time.Second, rate: 200, replicas: 2}); err != nil || o != want {
		t.Errorf("without flags: %+v, %v", o, err)
	}
	o, err = parse([]string{"-duration", "2m", "-rate", "1000", "-replicas", "8", "-real", "-redis-server", "/opt/redis-server"})
	want := options{duration: 2 * time.Minute, rate: 1000, replicas: 8, real: true, redisServer: "/opt/redis-server"}
	if err != nil || o != want {
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
		{"short", []string{"-duration", "11s"}, "-duration: want 12s to 2m0s, got 11s"},
		{"long", []string{"-duration", "121s"}, "-duration: want 12s to 2m0s, got 2m1s"},
		{"fine", []string{"-duration", "12500ms"}, "-duration: want whole seconds, got 12.5s"},
		{"slow", []string{"-rate", "49"}, "-rate: want 50 to 1000, got 49"},
		{"fast", []string{"-rate", "1001"}, "-rate: want 50 to 1000, got 1001"},
		{"no replicas", []string{"-replicas", "0"}, "-replicas: want 1 to 8, got 0"},
		{"many replicas", []string{"-replicas", "9"}, "-replicas: want 1 to 8, got 9"},
		{"no such server", []string{"-redis-server", "/no/such/redis-server"}, "-redis-server: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			oneLine(t, c.args, c.want)
		})
	}
}

// oneLine expects a failure with one line that contains want.
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
}

func TestHelpExplainsEveryFlag(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"-h"}, &out, &errs); code != 0 || errs.Len() > 0 {
		t.Errorf("exit code %d, errors %q", code, errs.String())
	}
	for _, want := range []string{
		"-duration duration\n", "-rate int\n", "-replicas int\n", "-real\n", "-redis-server PATH\n",
		"exit code", "default 24s", "default 200", "default 2)",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// An interrupted run ends at once, prints its progress, and leaves no process or file.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	start := time.Now()
	var out, errs bytes.Buffer
	code := run(ctx, []string{"-rate", "50"}, &out, &errs)
	if took := time.Since(start); code != exitInterrupted || took > 5*time.Second {
		t.Errorf("exit code %d after %v", code, took)
	}
	if got := errs.String(); !strings.HasPrefix(got, "outage: interrupted after ") || !strings.HasSuffix(got, " requests, 0 of them lost, 0 answered with a 5xx\n") {
		t.Errorf("printed %q", got)
	}
}
