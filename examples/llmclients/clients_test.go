package llmclients

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/llm"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	baseURL = "https://llm.example/v1"
	model   = "m-1"
	otpm    = 1000
)

// ask is one call of a client.
type ask func(ctx context.Context, over http.RoundTripper) (string, error)

// calls are all clients, with a whole answer and with a stream.
var calls = map[string]struct {
	provider llm.Provider
	ask      ask
}{
	"openai-go": {llm.OpenAI, func(ctx context.Context, over http.RoundTripper) (string, error) {
		return askOpenAI(ctx, newOpenAI(over, baseURL, "key"), model, "why?")
	}},
	"openai-go, stream": {llm.OpenAI, func(ctx context.Context, over http.RoundTripper) (string, error) {
		return streamOpenAI(ctx, newOpenAI(over, baseURL, "key"), model, "why?")
	}},
	"anthropic-sdk-go": {llm.Anthropic, func(ctx context.Context, over http.RoundTripper) (string, error) {
		return askAnthropic(ctx, newAnthropic(over, baseURL[:len(baseURL)-len("/v1")], "key"), model, "why?")
	}},
	"anthropic-sdk-go, stream": {llm.Anthropic, func(ctx context.Context, over http.RoundTripper) (string, error) {
		return streamAnthropic(ctx, newAnthropic(over, baseURL[:len(baseURL)-len("/v1")], "key"), model, "why?")
	}},
	"langchaingo": {llm.OpenAI, func(ctx context.Context, over http.RoundTripper) (string, error) {
		client, err := newLangchain(over, baseURL, "key", model)
		if err != nil {
			return "", err
		}
		return askLangchain(ctx, client, "why?")
	}},
	"langchaingo, stream": {llm.OpenAI, func(ctx context.Context, over http.RoundTripper) (string, error) {
		client, err := newLangchain(over, baseURL, "key", model)
		if err != nil {
			return "", err
		}
		return streamLangchain(ctx, client, "why?")
	}},
}

// counting counts the attempts of a client.
type counting struct {
	http.RoundTripper
	attempts int
}

func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c.attempts++
	return c.RoundTripper.RoundTrip(req)
}

// set is a Transport over a provider, and the limiter of output tokens.
type set struct {
	over     *counting
	provider *weirtest.Provider
	output   *weir.Limiter
}

func newSet(t *testing.T, provider llm.Provider) *set {
	t.Helper()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := new(set)
	s.provider, err = weirtest.NewLLM(weirtest.LLMConfig{
		Used: func([]byte, int64, int64) (in, out int64) { return 20, 40 }, Pace: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	transport, err := llm.NewTransport(store, llm.Config{
		Provider: provider, Name: "test", Limits: llm.Limits{OTPM: otpm, ITPM: 10_000}, Refuse: true, Base: s.provider.Transport(),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.over = &counting{RoundTripper: transport}
	s.output, err = weir.New(weir.Config{
		Name: "test otpm", Store: store, Limits: []weir.Limit{weir.Per(otpm, time.Minute).By(weir.SlidingWindow).Stretch(time.Second)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// used returns the number of counted output tokens.
func (s *set) used(t *testing.T) int64 {
	t.Helper()
	d, err := s.output.Peek(t.Context(), "model "+model)
	if err != nil {
		t.Fatal(err)
	}
	return otpm - d.Remaining
}

// TestAnswers: each client gets its answer, and its real usage is counted.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSet(t, call.provider)
				answer, err := call.ask(t.Context(), s.over)
				if err != nil || answer != "ok" && answer != "word word word word " {
					t.Errorf("%q, %v", answer, err)
				}
				if n := s.used(t); n != 40 {
					t.Errorf("%d output tokens are counted, want the real 40", n)
				}
				if c := s.provider.Counts(); c.Admitted != 1 || c.OpenBodies > 0 {
					t.Errorf("the provider counts %+v", c)
				}
			})
		})
	}
}

// TestRefusalByWeir: a client without retries returns weir's error after one attempt.
func TestRefusalByWeir(t *testing.T) {
	t.Parallel()
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSet(t, call.provider)
				if d, err := s.output.AllowN(t.Context(), "model "+model, 900); err != nil || !d.Allowed {
					t.Fatal(d, err)
				}
				_, err := call.ask(t.Context(), s.over)
				var limited *weir.LimitedError
				if !errors.As(err, &limited) || limited.Scope != "test otpm" || s.over.attempts != 1 {
					t.Errorf("%v after %d attempts, want a *weir.LimitedError after one", err, s.over.attempts)
				}
				if n := s.provider.Counts().Arrived(); n > 0 {
					t.Errorf("%d requests were sent", n)
				}
			})
		})
	}
}

// TestRefusalByProvider: a client without retries returns a 429 after one attempt, which
// costs no tokens.
func TestRefusalByProvider(t *testing.T) {
	t.Parallel()
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSet(t, call.provider)
				s.provider.Refuse(1, 20*time.Second)
				if _, err := call.ask(t.Context(), s.over); err == nil || errors.Is(err, weir.ErrLimited) || s.over.attempts != 1 {
					t.Errorf("%v after %d attempts, want the provider's error after one", err, s.over.attempts)
				}
				if err := s.output.Resume(t.Context(), "model "+model); err != nil {
					t.Fatal(err)
				}
				if n := s.used(t); n != 0 {
					t.Errorf("%d output tokens are counted, want none", n)
				}
			})
		})
	}
}

// TestOwnRetries shows the reason to turn retries off: a client with its default retries
// asks a full budget three times.
func TestOwnRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSet(t, llm.OpenAI)
		if d, err := s.output.AllowN(t.Context(), "model "+model, 900); err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
		client := openai.NewClient(
			option.WithHTTPClient(&http.Client{Transport: s.over}), option.WithBaseURL(baseURL), option.WithAPIKey("key"),
		)
		if _, err := askOpenAI(t.Context(), client, model, "why?"); !errors.Is(err, weir.ErrLimited) || s.over.attempts != 3 {
			t.Errorf("%v after %d attempts, want 3", err, s.over.attempts)
		}
	})
}

// TestRawBody: openai-go sends a body from a bytes.Reader whole, though its GetBody
// rewinds the body itself.
func TestRawBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSet(t, llm.OpenAI)
		client := newOpenAI(s.over, baseURL, "key")
		var answer openai.ChatCompletion
		body := bytes.NewReader([]byte(`{"model":"m-1","max_completion_tokens":300,"messages":[{"role":"user","content":"why?"}]}`))
		if err := client.Post(t.Context(), "chat/completions", body, &answer); err != nil || answer.Usage.CompletionTokens != 40 {
			t.Errorf("%+v, %v", answer.Usage, err)
		}
		if n := s.used(t); n != 40 {
			t.Errorf("%d output tokens are counted, want 40", n)
		}
	})
}
