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
)

// tally counts the events of a Hook.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) hook(_ context.Context, e weir.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Op != "" {
		c.n[e.Op]++
	}
	if e.Kind != weir.EventStoreCall {
		c.n[e.Kind.String()+" "+e.Result()]++
	}
	if e.Scope != "openai rpm" && e.Scope != "openai otpm" || e.Key != "model x" {
		c.n["strange"]++
	}
}

// TestEachCallIsDecidedOnce: a call has one decision and at most one wait, however often it
// asks the store.
func TestEachCallIsDecidedOnce(t *testing.T) {
	t.Parallel()
	background := weir.InBackground
	soon := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		context.AfterFunc(ctx, cancel)
		return ctx
	}
	for name, test := range map[string]struct {
		cfg   llm.Config
		begin func(context.Context) context.Context
		full  bool // no unit is left
		want  []string
		err   error
	}{
		"at once":           {want: []string{"decision allowed"}},
		"a wait":            {full: true, want: []string{"decision allowed", "wait_begin ", "wait allowed"}},
		"in the background": {full: true, begin: background, want: []string{"decision allowed", "wait_begin ", "wait allowed"}},
		"MaxWait":           {full: true, cfg: llm.Config{MaxWait: time.Second}, want: []string{"decision limited", "wait_begin ", "wait limited"}, err: weir.ErrLimited},
		"Refuse":            {full: true, cfg: llm.Config{Refuse: true}, want: []string{"decision limited"}, err: weir.ErrLimited},
		"the context's end": {full: true, begin: soon, want: []string{"wait_begin ", "wait deadline"}, err: context.DeadlineExceeded},
		"a Hook that panics": {full: true, cfg: llm.Config{Hook: func(_ context.Context, e weir.Event) {
			if e.Kind == weir.EventWaitBegin {
				panic("hook")
			}
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := localstore.New(localstore.Config{})
				if err != nil {
					t.Fatal(err)
				}
				events := tally{n: make(map[string]int)}
				cfg := test.cfg
				if cfg.Provider, cfg.Limits = llm.OpenAI, (llm.Limits{RPM: 1, OTPM: 1000}); cfg.Hook == nil {
					cfg.Hook = events.hook
				}
				cfg.Base = roundTripper(func(*http.Request) (*http.Response, error) { return status(200) })
				tr, err := llm.NewTransport(s, cfg)
				if err != nil {
					t.Fatal(err)
				}
				send := func(ctx context.Context) error {
					req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://llm.example/v1/chat/completions", strings.NewReader(`{"max_tokens":50,"model":"x"}`))
					resp, err := tr.RoundTrip(req)
					if err == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
					}
					return err
				}
				if test.full {
					if err := send(t.Context()); err != nil {
						t.Fatal(err)
					}
					clear(events.n)
				}
				ctx := t.Context()
				if test.begin != nil {
					ctx = test.begin(ctx)
				}
				if err := send(ctx); !errors.Is(err, test.err) {
					t.Errorf("%v, want %v", err, test.err)
				}
				want := make(map[string]int)
				for _, event := range test.want {
					want[event]++
				}
				for event, n := range events.n {
					if event != "take" && want[event] != n {
						t.Errorf("%d of %q, want %d", n, event, want[event])
					}
					delete(want, event)
				}
				if len(want) > 0 {
					t.Errorf("no %v", want)
				}
			})
		})
	}
}

// TestAWaitEndsUnderTheNameOfItsBeginning: calls that wait, counted by limiter, are none at
// the end, whichever budget admits a call.
func TestAWaitEndsUnderTheNameOfItsBeginning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		waiting, ended := map[string]int{}, 0
		tr, err := llm.NewTransport(s, llm.Config{
			Provider: llm.OpenAI, Limits: llm.Limits{RPM: 100, OTPM: 50},
			Base: roundTripper(func(*http.Request) (*http.Response, error) { return status(200) }),
			Hook: func(_ context.Context, e weir.Event) {
				mu.Lock()
				defer mu.Unlock()
				switch e.Kind {
				case weir.EventWaitBegin:
					waiting[e.Scope]++
				case weir.EventWait:
					waiting[e.Scope]--
					ended++
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://llm.example/v1/chat/completions", strings.NewReader(`{"max_tokens":50,"model":"x"}`))
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			})
			time.Sleep(time.Second) // The third lines up behind the second without a question.
		}
		wg.Wait()
		for scope, n := range waiting {
			if n != 0 {
				t.Errorf("%d calls wait for %s at the end", n, scope)
			}
		}
		if ended != 3 {
			t.Errorf("%d waits, want 3", ended)
		}
	})
}
