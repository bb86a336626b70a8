package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/weirtest"
)

// inBubble starts the provider in this process, on the clock of synctest.
func inBubble(cfg weirtest.ProviderConfig) (*provider, error) {
	p, err := weirtest.NewProvider(cfg)
	if err != nil {
		return nil, err
	}
	return &provider{p, "http://provider.example/", p.Transport(), func() error { return nil }}, nil
}

// TestChart compares all output, apart from colours, with a file.
func TestChart(t *testing.T) {
	const file = "testdata/chart.txt"
	for name, colour := range map[string]bool{"plain": false, "with colours": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				r, err := play(t.Context(), inBubble, 3, &chart{w: &out, colour: colour})
				if err != nil || r.broken() != nil {
					t.Fatalf("%v, %v", err, r.broken())
				}
				r.print(&out)
				got := out.String()
				if colour == !strings.Contains(got, "\x1b[") {
					t.Errorf("colours are wrong in\n%q", got)
				}
				got = strings.NewReplacer("\x1b[32m", "", "\x1b[31m", "", "\x1b[0m", "").Replace(got)
				for line := range strings.Lines(got) {
					if len(line) > 80+1 {
						t.Errorf("longer than 80 columns: %q", line)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil || got != string(want) {
					t.Errorf("%v, printed\n%s\nwant\n%s", err, got, want)
				}
			})
		})
	}
}

// TestEveryLengthIsFair: the limiter's windows are longer by the margin, and yet a run
// has as many of them as of the provider's.
func TestEveryLengthIsFair(t *testing.T) {
	t.Parallel()
	for windows := minWindows; windows <= maxWindows; windows++ {
		synctest.Test(t, func(t *testing.T) {
			r, err := play(t.Context(), inBubble, windows, &chart{w: new(bytes.Buffer)})
			if err != nil || r.with.refused != 0 || r.share(r.with) != 1 || r.without.refused == 0 {
				t.Errorf("%d windows: %+v, %v", windows, r, err)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err := play(ctx, inBubble, 5, &chart{w: new(bytes.Buffer)})
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestBroken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(*result)
		want  string // "": nothing is broken
	}{
		{"good", func(*result) {}, ""},
		{"one call too many", func(r *result) { r.with.refused = 1 }, "with weir the provider refused 1 calls"},
		{"too few calls", func(r *result) { r.with.served = 47 }, "94.0 % of the allowed calls"},
		{"a failed call", func(r *result) { r.without.failed = errors.New("no network") }, "a call failed: no network"},
		{"no calls", func(r *result) { r.with = outcome{} }, "0.0 %"},
	} {
		r := &result{without: outcome{served: 50, refused: 200}, with: outcome{served: 50}, allowed: 50}
		c.spoil(r)
		if err := r.broken(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
