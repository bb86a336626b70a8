package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore"
)

// golden compares text with a file in testdata. WEIR_UPDATE=1 writes the file anew.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if os.Getenv("WEIR_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

var began = time.Date(2026, 11, 25, 18, 4, 5, 0, time.UTC)

// keysOfTest are keys of each kind, at a fixed time.
func keysOfTest() []inspect.Key {
	const second, minute = inspect.Span(time.Second), inspect.Span(time.Minute)
	slow := inspect.Brake{Rate: 32, For: 90 * second}
	limit := func(l weir.Limit, used int64, reset inspect.Span) inspect.Limit {
		return inspect.Limit{Limit: store.Limit(l), Used: used, Remaining: store.Limit(l).Max() - used, ResetAfter: reset}
	}
	key := func(limiter, name string, limits ...inspect.Limit) inspect.Key {
		return inspect.Key{
			Limiter: limiter, Key: name, Stored: "weir:{" + limiter + ":" + name + "}", Server: "redis:6379", At: began, TTL: 5 * second,
			Limits: limits, Brake: inspect.Brake{Rate: 64}, Next: inspect.Next{Allowed: true, Limit: -1},
		}
	}
	calm := key("api", "user:1", limit(weir.Per(25, 5*time.Second), 8, 1600*second/1000))
	full := key("api", "user 2", limit(weir.Per(25, 5*time.Second), 25, 5*second), limit(weir.Per(300, time.Minute).By(weir.SlidingWindow), 100, minute))
	full.Next = inspect.Next{RetryAfter: 192784 * second / 1e6, Reason: "limited", Limit: 0}
	full.Limits[1].LeftFor = 3 * minute
	queue := key("stripe", "live", limit(weir.Per(25, time.Second).WithBurst(50), 50, 40*second))
	queue.Ahead = inspect.Ahead{Calls: 12, First: 10 * minute, Last: 10*minute + 480*second/1000}
	queue.Brake, queue.Next = inspect.Brake{Pause: 10 * minute, Rate: 64}, inspect.Next{RetryAfter: 10*minute + 520*second/1000, Reason: "paused", Limit: 0}
	unknown := key("github", strings.Repeat("o", 60), limit(weir.Per(5000, time.Hour).By(weir.FixedWindow), 5000, 59*minute+30*second))
	unknown.Ahead, unknown.Brake = inspect.Ahead{Calls: -1, First: second, Last: 60 * minute}, slow
	unknown.Next, unknown.InFlight, unknown.LeaseEnds = inspect.Next{RetryAfter: 60 * minute, Reason: "waiting", Limit: 0}, 3, 25*second
	planted := key("api", "planted")
	planted.Err, planted.NoTTL, planted.TTL, planted.Next = redisstore.ErrState, true, 0, inspect.Next{}
	missing := key("api", "new")
	missing.Missing, missing.TTL = true, 0
	hashed := inspect.Key{Hash: strings.Repeat("0a", 20), Stored: "weir:{#" + strings.Repeat("0a", 20) + "}", Server: "redis:6379", At: began, TTL: second, Reset: true, Next: inspect.Next{Allowed: true}}
	return []inspect.Key{calm, full, queue, unknown, planted, missing, hashed}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	keys := keysOfTest()
	each := func(f func(p *page, k *inspect.Key)) func(*page) {
		return func(p *page) {
			for i := range keys {
				f(p, &keys[i])
				p.line("")
			}
		}
	}
	asJSON := func(v any) func(*page) {
		return func(p *page) {
			if err := printJSON(p, v); err != nil {
				t.Error(err)
			}
		}
	}
	for name, write := range map[string]func(*page){
		"table":   func(p *page) { p.table(keys, 0) },
		"explain": each((*page).explain),
		"peek": each(func(p *page, k *inspect.Key) {
			if k.Err == nil { // Otherwise peek fails.
				p.peek(k)
			}
		}),
		"json": each(func(p *page, k *inspect.Key) { asJSON(k)(p) }),
		"top": func(p *page) {
			l := listing{sort: "use"}
			l.draw(p, "weir:", inspect.Listing{Keys: keys, At: began, Cut: true}, 4, 80, 2*time.Second)
		},
		"doctor": func(p *page) {
			p.findings([]redisstore.Finding{
				{Name: "eviction", Level: redisstore.Warning, Server: "redis:6379", What: "it evicts", Remedy: "set noeviction"},
				{Name: "away", Level: redisstore.Fault, What: "it is away", Remedy: "start it", Err: errors.New("one\ntwo")},
			}, true)
		},
		"doctor-well": func(p *page) { p.findings(nil, false) },
		"doctor-json": asJSON(findingsJSON([]redisstore.Finding{{Name: "away", Level: redisstore.Fault, Server: "redis:6379", What: "it is away", Remedy: "start it", Err: errors.New("one\ntwo")}}, true)),
		"bench":       func(p *page) { p.measurements(measured()) },
		"bench-json":  asJSON(map[string]any{"measurements": measured()}),
	} {
		t.Run(name, func(t *testing.T) {
			var b page
			write(&b)
			golden(t, name, b.String())
			if name == "top" {
				for line := range strings.Lines(b.String()) {
					if len(strings.TrimSuffix(line, "\n")) > 80 {
						t.Errorf("over 80 columns: %s", line)
					}
				}
			}
		})
	}
}

func measured() []measurement {
	m := measurement{Name: "1 caller", Callers: 1, Failed: 2}
	times := make([]time.Duration, 1000)
	for i := range times {
		times[i] = time.Duration(i+1) * 50 * time.Microsecond
	}
	m.of(times, time.Second)
	return []measurement{m, {Name: "16 callers", Callers: 16}}
}

// TestHelp checks that each command has an example, and a help of at most 80 columns.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, c := range newRoot().Commands() {
		if c.Example == "" || c.Long == "" || c.Short == "" {
			t.Errorf("%s has no example or no help", c.Name())
		}
		for line := range strings.Lines(c.Long) {
			if len(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("%s: over 80 columns: %s", c.Name(), line)
			}
		}
	}
}

// TestDocs: docs/command.md has each command and each flag; docs/algorithms.md has simulate.
func TestDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/command.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range newRoot().Commands() {
		if !strings.Contains(string(text), "weir "+c.Name()) {
			t.Errorf("docs/command.md has no weir %s", c.Name())
		}
		if c.Name() == "simulate" {
			continue
		}
		for _, flag := range regexp.MustCompile(`--[a-z-]+ `).FindAllString(c.LocalFlags().FlagUsages(), -1) {
			if flag = strings.TrimSpace(flag); !strings.Contains(string(text), flag) {
				t.Errorf("docs/command.md has no %s of weir %s", flag, c.Name())
			}
		}
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	for sort, want := range map[string][]string{
		"name":    {"#0a0a", "api:new", "api:planted"},
		"use":     {"api:user%202", "github:oooo", "stripe:live", "api:user:1"},
		"refusal": {"github:oooo", "stripe:live", "api:user%202"},
		"queue":   {"github:oooo", "stripe:live", "#0a0a"},
	} {
		keys := keysOfTest()
		(&listing{sort: sort}).order(keys)
		for i, start := range want {
			if text := keys[i].Text(); !strings.HasPrefix(text, start) {
				t.Errorf("%s: %d is %s, want %s", sort, i, text, start)
			}
		}
	}
}

// TestNarrowTable: 40 columns show keys.
func TestNarrowTable(t *testing.T) {
	t.Parallel()
	var b page
	b.table(keysOfTest(), 40)
	if got := b.String(); !strings.HasPrefix(got, "USED  NEXT") || !strings.Contains(got, "api:user:1") || !strings.Contains(got, "stripe:live") {
		t.Errorf("got\n%s", got)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 41 {
			t.Errorf("over 40 columns: %s", line)
		}
	}
}
