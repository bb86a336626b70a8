package main

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/internal/redistest"
)

func TestMain(m *testing.M) {
	passwordRounds = 1 // no test measures its time
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	leaktest.Main(m)
}

// varying matches output that depends on the machine's speed, and on chance.
var varying = regexp.MustCompile(`(wk_)[A-Z0-9]{26}|(;t=)\d+|("pro(?:-day)?";r=)\d+|(Retry-After: )\d+`)

func TestDemo(t *testing.T) {
	golden, err := os.ReadFile("testdata/demo.txt")
	if err != nil {
		t.Fatal(err)
	}
	before, outage, ok := strings.Cut(string(golden), "\n# Nor that")
	if !ok {
		t.Fatal("the golden file has no outage")
	}
	for _, c := range []struct{ name, url, want string }{
		{"embedded Redis, which goes away", "", before + "\n# Nor that" + outage},
		{"real Redis", "redis", before},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.url != "" {
				c.url = "redis://" + redistest.Start(t).Addr
			}
			defer func() { *demo, *redisURL = false, "" }()
			*demo, *redisURL = true, c.url
			var out bytes.Buffer
			if err := run(&out); err != nil {
				t.Fatal(err)
			}
			if got := varying.ReplaceAllString(out.String(), "$1$2$3$4…"); got != c.want {
				t.Errorf("printed\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestWrongFlags(t *testing.T) {
	defer func() { *redisURL, *headers = "", "draft11" }()
	for _, c := range []struct{ name, redis, headers, want string }{
		{"unknown style of headers", "", "loud", `there is no style "loud"`},
		{"no URL of a Redis", "http://:secret@localhost", "draft11", "want redis://"},
		{"no URL at all", "redis://:secret@local host", "draft11", "want a URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			*redisURL, *headers = c.redis, c.headers
			err := run(io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want %q and no password", err, c.want)
			}
		})
	}
}
