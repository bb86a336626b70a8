package llm_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/llm"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ok := llm.Limits{RPM: 1}
	for field, cfg := range map[string]llm.Config{
		"Provider":          {Limits: ok},
		"Limits":            {Provider: llm.OpenAI},
		"Limits.TPM":        {Provider: llm.OpenAI, Limits: llm.Limits{TPM: 1, OTPM: 1}},
		"Limits.OTPM":       {Provider: llm.OpenAI, Limits: llm.Limits{RPM: 1, OTPM: -1}},
		`Models["m"]`:       {Provider: llm.OpenAI, Models: map[string]llm.Limits{"m": {}}},
		`Models[""]`:        {Provider: llm.OpenAI, Models: map[string]llm.Limits{"": ok}},
		"Output":            {Provider: llm.OpenAI, Limits: ok, Output: -1},
		"CachedPercent":     {Provider: llm.OpenAI, Limits: ok, CachedPercent: 101},
		"Reserve":           {Provider: llm.OpenAI, Limits: ok, Reserve: 100},
		"MaxWait":           {Provider: llm.OpenAI, Limits: ok, MaxWait: 1, Refuse: true},
		"MaxWait ":          {Provider: llm.OpenAI, Limits: ok, MaxWait: -1},
		"Limits.RPM":        {Provider: llm.OpenAI, Limits: llm.Limits{RPM: 1 << 41}},
		"Models[\"m\"].RPM": {Provider: llm.OpenAI, Models: map[string]llm.Limits{"m": {RPM: -1, OTPM: 2}}},
	} {
		var wrong *weir.ConfigError
		if _, err := llm.NewTransport(s, cfg); !errors.As(err, &wrong) || wrong.Field != "llm.Config."+strings.TrimSpace(field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := new(llm.Transport).RoundTrip(&http.Request{}); !errors.Is(err, weir.ErrConfig) || !strings.Contains(err.Error(), "llm.Transport:") {
		t.Errorf("a zero Transport: %v", err)
	}
	if _, err := llm.NewTransport(nil, llm.Config{Provider: llm.OpenAI, Limits: ok}); !errors.Is(err, weir.ErrConfig) {
		t.Errorf("no store: %v", err)
	}
}

// TestModels: each family has its own budgets, the longest name wins, other models have
// one each, and an estimate over a limit is cut to it.
func TestModels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := localstore.New(localstore.Config{})
		tr, err := llm.NewTransport(s, llm.Config{
			Provider: llm.OpenAI, Limits: llm.Limits{RPM: 1}, Refuse: true,
			Models: map[string]llm.Limits{"gpt": {RPM: 2}, "gpt-5": {RPM: 3, OTPM: 10}},
			Base:   roundTripper(func(*http.Request) (*http.Response, error) { return status(200) }),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			model string
			ok    int
		}{{"gpt-5-mini", 1}, {"gpt-4", 2}, {"gpt-3", 0}, {"o3", 1}, {"o4", 1}} {
			ok := 0
			for range 4 {
				req, _ := http.NewRequest(http.MethodPost, "https://llm.example/v1/chat/completions", strings.NewReader(`{"max_tokens":50,"model":"`+test.model+`"}`))
				resp, err := tr.RoundTrip(req)
				var limited *weir.LimitedError
				switch {
				case err == nil:
					ok++
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					if resp.Request != nil {
						t.Error("the response names another request")
					}
				case !errors.As(err, &limited) || limited.RetryAfter <= 0 || limited.Key == "" || limited.Scope == "":
					t.Errorf("%#v", err)
				}
			}
			if ok != test.ok {
				t.Errorf("%s: %d requests left, want %d", test.model, ok, test.ok)
			}
		}
		req, _ := http.NewRequest(http.MethodGet, "https://llm.example/v1/models", nil)
		if _, err := tr.RoundTrip(req); err != nil {
			t.Errorf("a list of models: %v", err)
		}
	})
}

// TestWaits: a wait ends at MaxWait, at the deadline, and when other calls return units.
// It ends early for a pause that lasts longer.
func TestWaits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		maxWait, deadline, pause, want time.Duration
		behind                         bool // another call waits already
		err                            error
	}{
		"MaxWait":                    {maxWait: 10 * time.Second, want: 10 * time.Second, err: weir.ErrLimited},
		"the deadline":               {deadline: 10 * time.Second, want: 10 * time.Second, err: context.DeadlineExceeded},
		"returned units":             {want: 30 * time.Second},
		"returned units, late":       {maxWait: 40 * time.Second, want: 30 * time.Second},
		"a longer pause":             {maxWait: time.Minute, pause: 2 * time.Minute, err: weir.ErrLimited},
		"a pause after the deadline": {deadline: time.Minute, pause: 2 * time.Minute, err: weir.ErrLimited},
		"a pause behind a call":      {deadline: time.Minute, pause: 2 * time.Minute, behind: true, err: weir.ErrLimited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := llm.Config{Provider: llm.OpenAI, Limits: llm.Limits{OTPM: 1000}, MaxWait: test.maxWait}
				c := newCrew(t, 1, weirtest.LLMConfig{Pace: 30 * time.Second, Events: 1, Used: partly}, cfg)
				go func() { _ = c.send(context.Background(), 0, "/chat/completions", prompt(1, 1000, false)) }()
				synctest.Wait()
				if test.pause > 0 {
					l, err := weir.New(weir.Config{Name: "openai otpm", Store: c.store, Limits: []weir.Limit{perMinute(1000)}})
					if err != nil || l.Pause(t.Context(), "model m-1", test.pause) != nil {
						t.Fatal(err)
					}
				}
				waiting, stop := context.WithCancel(t.Context())
				if test.behind {
					go func() { _ = c.send(waiting, 0, "/chat/completions", prompt(2, 10, false)) }()
					time.Sleep(time.Second)
				}
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if test.deadline > 0 {
					ctx, cancel = context.WithTimeout(ctx, test.deadline)
				}
				defer cancel()
				start := time.Now()
				err := c.send(ctx, 0, "/chat/completions", prompt(1, 10, true))
				took := time.Since(start)
				if test.err == nil {
					took -= 30 * time.Second // of the request itself
				}
				if !errors.Is(err, test.err) || took < test.want || took > test.want+time.Second {
					t.Errorf("%v after %v; want %v after %v", err, took, test.err, test.want)
				}
				stop()
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestLargeCallIsServed: small calls of another process can't keep a large call waiting
// for ever.
func TestLargeCallIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 2, weirtest.LLMConfig{Events: 1}, llm.Config{Provider: llm.OpenAI, Limits: llm.Limits{OTPM: 1000, Bucket: true}})
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go func() {
				for ctx.Err() == nil {
					_ = c.send(ctx, 0, "/chat/completions", prompt(1, 20, false))
				}
			}()
		}
		time.Sleep(3 * time.Minute)
		start := time.Now()
		if err := c.send(ctx, 1, "/chat/completions", prompt(1, 900, false)); err != nil || time.Since(start) > 5*time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		cancel()
		time.Sleep(time.Minute)
	})
}

// TestBackgroundGivesWay: a call of the background class waits while other calls wait.
func TestBackgroundGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 1, weirtest.LLMConfig{Events: 1}, llm.Config{Provider: llm.OpenAI, Limits: llm.Limits{RPM: 6, Bucket: true}})
		order := make(chan string, 100)
		work := func(ctx context.Context, class string) {
			if err := c.send(ctx, 0, "/chat/completions", prompt(1, 1, false)); err != nil {
				t.Error(err)
			}
			order <- class
		}
		for range 5 {
			work(t.Context(), "first")
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { work(weir.InBackground(t.Context()), "batch") })
		}
		synctest.Wait()
		for range 5 {
			wg.Go(func() { work(t.Context(), "interactive") })
		}
		wg.Wait()
		close(order)
		var all []string
		for class := range order {
			all = append(all, class)
		}
		if got := strings.Join(all[5:10], " "); len(all) != 15 || strings.Contains(got, "batch") {
			t.Errorf("%d served, in the order %q", len(all), all)
		}
	})
}

// TestNewcomersDoNotOvertake: small calls that come while a large one waits in the same
// process take nothing before it, of both classes.
func TestNewcomersDoNotOvertake(t *testing.T) {
	t.Parallel()
	for name, class := range map[string]func(context.Context) context.Context{
		"background": weir.InBackground, "interactive": func(ctx context.Context) context.Context { return ctx },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCrew(t, 1, weirtest.LLMConfig{Events: 1}, llm.Config{
					Provider: llm.OpenAI, Limits: llm.Limits{OTPM: 1000, Bucket: true}, MaxWait: 5 * time.Minute,
				})
				ctx, cancel := context.WithCancel(t.Context())
				if err := c.send(ctx, 0, "/chat/completions", prompt(1, 983, false)); err != nil {
					t.Fatal(err)
				}
				var small sync.WaitGroup
				small.Go(func() {
					for ctx.Err() == nil {
						time.Sleep(100 * time.Millisecond)
						small.Go(func() { _ = c.send(class(ctx), 0, "/chat/completions", prompt(1, 5, false)) })
					}
				})
				start := time.Now()
				if err := c.send(ctx, 0, "/chat/completions", prompt(1, 500, false)); err != nil || time.Since(start) > 31*time.Second {
					t.Errorf("%v after %v, want none after 30 s", err, time.Since(start))
				}
				cancel()
				small.Wait()
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestNeverFirst: a call waits behind others until MaxWait. Its error has the budget that
// refuses it.
func TestNeverFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 1, weirtest.LLMConfig{Events: 1}, llm.Config{
			Provider: llm.OpenAI, Limits: llm.Limits{OTPM: 1000, Bucket: true}, MaxWait: 20 * time.Second,
		})
		send := func(ctx context.Context) error { return c.send(ctx, 0, "/chat/completions", prompt(1, 983, false)) }
		if err := send(t.Context()); err != nil {
			t.Fatal(err)
		}
		var others sync.WaitGroup
		for i := range 6 {
			others.Go(func() {
				time.Sleep(time.Duration(i) * 9 * time.Second)
				_ = send(t.Context())
			})
		}
		time.Sleep(5 * time.Second)
		start := time.Now()
		err := send(weir.InBackground(t.Context()))
		var limited *weir.LimitedError
		if !errors.As(err, &limited) || limited.Scope != "openai otpm" || limited.RetryAfter <= 0 || time.Since(start) != 20*time.Second {
			t.Errorf("%v after %v, want a *weir.LimitedError after 20 s", err, time.Since(start))
		}
		others.Wait()
	})
}

// TestReserve: background calls of one process leave the reserved units to the calls of
// another one, and an estimate over the rest waits rather than fail.
func TestReserve(t *testing.T) {
	t.Parallel()
	for name, bucket := range map[string]bool{"a bucket": true, "a sliding window": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCrew(t, 2, weirtest.LLMConfig{Events: 1}, llm.Config{
					Provider: llm.OpenAI, Limits: llm.Limits{OTPM: 1000, Bucket: bucket}, Reserve: 30, MaxWait: 10 * time.Minute,
				})
				served := 0
				for ; ; served++ {
					ctx, cancel := context.WithTimeout(weir.InBackground(t.Context()), time.Second)
					err := c.send(ctx, 0, "/chat/completions", prompt(1, 50, false))
					cancel()
					if err != nil {
						break
					}
				}
				if served < 13 || served > 14 {
					t.Errorf("%d background calls of 50 left at once, want 13 or 14 of 70 %%", served)
				}
				start := time.Now()
				if err := c.send(t.Context(), 1, "/chat/completions", prompt(1, 250, false)); err != nil || time.Since(start) > 0 {
					t.Errorf("another call: %v after %v, want none at once", err, time.Since(start))
				}
				if err := c.send(weir.InBackground(t.Context()), 0, "/chat/completions", prompt(1, 5000, false)); err != nil {
					t.Errorf("a large background call: %v", err)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestRefusalPauses: one 429 pauses the model for all processes, and costs no tokens.
func TestRefusalPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 2, weirtest.LLMConfig{Events: 1}, llm.Config{Provider: llm.Anthropic, Limits: llm.Limits{ITPM: 10_000, OTPM: 10_000}})
		c.provider.Refuse(1, 20*time.Second)
		if err := c.send(t.Context(), 0, "/messages", prompt(1, 400, true)); err == nil {
			t.Error("the provider refused nothing")
		}
		start := time.Now()
		if err := c.send(t.Context(), 1, "/messages", prompt(1, 400, true)); err != nil || time.Since(start) < 20*time.Second {
			t.Errorf("%v after %v, want a wait of 20 s", err, time.Since(start))
		}
		if n := usedOf(t, c.store, "anthropic otpm", "model m-1", perMinute(10_000)); n != 400 {
			t.Errorf("%d output tokens are counted, want 400", n)
		}
	})
}
