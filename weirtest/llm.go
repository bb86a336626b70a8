package weirtest

import (
	"cmp"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/deadline"
)

// LLMConfig configures [NewLLM]. The zero value admits everything.
type LLMConfig struct {
	// RPM, TPM, ITPM and OTPM are the requests, the tokens, the input tokens and the
	// output tokens per minute of each model. 0: no such limit.
	RPM, TPM, ITPM, OTPM int64
	// Algorithm counts them: store.GCRA is a token bucket of a minute's units.
	Algorithm weir.Algorithm
	// Used returns the real numbers of tokens of a request, at most its estimates. It
	// depends on its arguments alone. Nil: the estimates.
	Used func(body []byte, in, out int64) (realIn, realOut int64)
	// Events is the number of parts of a streamed answer. 0: 4.
	Events int
	// Pace is the time before each of them, and before an answer that is no stream. 0:
	// none.
	Pace time.Duration
	// Piece is the number of bytes of each write into a stream. 0: an event.
	Piece int
	// Cut makes a stream break before its last events. Nil: none does.
	Cut func(body []byte) bool
	// Travel and Hook are those of [ProviderConfig].
	Travel func(*http.Request) time.Duration
	Hook   func(h http.Header, r *http.Request, a Answer)
}

// NewLLM returns a Provider of language models. It answers by the path of a request,
// whole or as a stream:
//
//	…/chat/completions, …/responses   as OpenAI
//	…/messages                        as Anthropic
//
// A request is charged its estimate when it arrives, and the rest is given back when
// its answer has ended. The estimate of the input is a quarter of the body's bytes,
// that of the output is its maximum, or 1024. A broken answer costs its estimate.
func NewLLM(cfg LLMConfig) (*Provider, error) {
	cfg.Events = cmp.Or(cfg.Events, 4)
	var limits []weir.Limit
	for _, l := range []struct {
		name string
		n    int64
	}{{"rpm", cfg.RPM}, {"tpm", cfg.TPM}, {"itpm", cfg.ITPM}, {"otpm", cfg.OTPM}} {
		if l.n > 0 {
			limits = append(limits, weir.PerMinute(l.n).By(cfg.Algorithm).WithName(l.name))
		}
	}
	cost := func(l weir.Limit, in, out int64) int64 {
		return map[string]int64{"rpm": 1, "tpm": in + out, "itpm": in, "otpm": out}[l.Name]
	}
	return NewProvider(ProviderConfig{
		Limits: limits,
		Key:    func(r *http.Request) string { return readPrompt(r).Model },
		Cost: func(r *http.Request, l weir.Limit) int64 {
			p := readPrompt(r)
			return cost(l, p.in, p.out)
		},
		Settle: func(r *http.Request, l weir.Limit) int64 {
			in, out := cfg.used(readPrompt(r))
			return cost(l, in, out)
		},
		Travel: cfg.Travel, Hook: cfg.Hook, KeepBodies: maxPrompt, MaxArrivals: 1000,
		Handler: http.HandlerFunc(cfg.answer), Stream: true,
	})
}

func (c *LLMConfig) used(p prompt) (in, out int64) {
	if c.Used == nil {
		return p.in, p.out
	}
	return c.Used(p.body, p.in, p.out)
}

func (c *LLMConfig) answer(w http.ResponseWriter, r *http.Request) {
	p := readPrompt(r)
	in, out := c.used(p)
	dialect := dialects["/chat/completions"]
	for path, d := range dialects {
		if strings.HasSuffix(r.URL.Path, path) {
			dialect = d
		}
	}
	if !p.Stream {
		c.wait(r)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, dialect.whole(p, in, out))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	begin, part, end := dialect.events(p, in, out)
	c.write(w, begin)
	for range c.Events {
		c.wait(r)
		c.write(w, part)
	}
	if c.Cut != nil && c.Cut(p.body) {
		panic(http.ErrAbortHandler)
	}
	c.write(w, end)
}

// wait waits before a part of an answer.
func (c *LLMConfig) wait(r *http.Request) {
	if deadline.Sleep(r.Context(), c.Pace) != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
}

// write writes and flushes text in pieces.
func (c *LLMConfig) write(w http.ResponseWriter, text string) {
	f := w.(http.Flusher)
	for len(text) > 0 {
		n := len(text)
		if c.Piece > 0 {
			n = min(n, c.Piece)
		}
		if _, err := io.WriteString(w, text[:n]); err != nil {
			panic(http.ErrAbortHandler) // the client has gone
		}
		f.Flush()
		text = text[n:]
	}
}
