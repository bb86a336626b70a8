package llm

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/upstream"
)

// Limits are a provider's limits for a model, or for a family of models together. At
// least one is above 0; 0 is no limit. TPM can't be combined with ITPM or OTPM.
type Limits struct {
	RPM  int64 // requests per minute
	TPM  int64 // tokens per minute, input and output together
	ITPM int64 // input tokens per minute
	OTPM int64 // output tokens per minute
	// Bucket: the provider counts by token buckets that hold a minute's units, as
	// Anthropic documents. The first minute then has twice the units. False: a
	// sliding window, which keeps to a provider's count of any kind.
	Bucket bool
}

// Config configures a [Transport].
type Config struct {
	// Provider is the form of requests and responses. Required.
	Provider Provider
	// Name distinguishes accounts: transports of one name on one store share their
	// limits, and have the same. It begins the names of limiters, as "openai gpt-5 tpm".
	// Empty: the provider's name.
	Name string
	// Limits hold for each model that Models does not name, for each by itself. Zero:
	// requests for such models fail.
	Limits Limits
	// Models are the limits of families of models. A key is the beginning of models'
	// names, and the longest one wins. All models of a family share its limits.
	Models map[string]Limits
	// Base sends the requests. Nil: http.DefaultTransport at the time of each request.
	Base http.RoundTripper
	// Tokens returns the number of input tokens of a request's body, for a tokenizer. Less
	// than 1 counts as 1. It is called from many goroutines at once. Nil: a quarter of the
	// body's bytes.
	Tokens func(model string, body []byte) int64
	// Output is the number of output tokens booked for a request that names no maximum.
	// 0: 1024.
	Output int64
	// CachedPercent is the part of a cached token that counts, in percent: 1 to 100, or
	// -1 for nothing. 0: the provider's default, which is nothing with Anthropic and
	// Bedrock, and all of it with OpenAI and Gemini.
	CachedPercent int
	// MaxWait is the maximum time that a request waits for its budgets. 0: its context
	// alone bounds the wait.
	MaxWait time.Duration
	// Refuse makes a request that can't leave now fail now. It can't be combined with
	// MaxWait. False: it waits.
	Refuse bool
	// Reserve is the share of each limit, in percent, that calls of the background
	// class leave to the others: 0 to 99. 0: 10 % of a Bucket, nothing of a window.
	// See [weir.Config].
	Reserve int
	// MaxPause and Hook are those of the limiters: see [weir.Config].
	MaxPause time.Duration
	Hook     weir.Hook
	// Upstream reads the provider's limits from its responses: see
	// [weir.TransportConfig].
	Upstream *upstream.Reader
}

const defaultOutput = 1024

func wrong(field, want, got string) error {
	return &weir.ConfigError{Field: "llm.Config." + field, Want: want, Got: got}
}

func (c *Config) check() error {
	switch {
	case c.Provider == 0 || c.Provider >= providers:
		return wrong("Provider", "OpenAI, Anthropic, Gemini or Bedrock", c.Provider.String())
	case c.Output < 0 || c.Output > maxTokens:
		return wrong("Output", "0 to 2^40", strconv.FormatInt(c.Output, 10))
	case c.CachedPercent < -1 || c.CachedPercent > 100:
		return wrong("CachedPercent", "-1 to 100", strconv.Itoa(c.CachedPercent))
	case c.MaxWait < 0:
		return wrong("MaxWait", "0 or more", c.MaxWait.String())
	case c.MaxWait > 0 && c.Refuse:
		return wrong("MaxWait", "0 with Refuse, which never waits", c.MaxWait.String())
	case c.Limits == Limits{} && len(c.Models) == 0:
		return wrong("Limits", "limits here or in Models", "none")
	}
	if (c.Limits != Limits{}) {
		if err := c.Limits.check("Limits"); err != nil {
			return err
		}
	}
	for model, l := range c.Models {
		field := modelField(model)
		if model == "" {
			return wrong(field, "a model's name or its beginning", "an empty one")
		}
		if err := l.check(field); err != nil {
			return err
		}
	}
	return nil
}

func modelField(family string) string { return fmt.Sprintf("Models[%q]", family) }

func (l *Limits) check(field string) error {
	for name, n := range map[string]int64{"RPM": l.RPM, "TPM": l.TPM, "ITPM": l.ITPM, "OTPM": l.OTPM} {
		if n < 0 || n > maxTokens {
			return wrong(field+"."+name, "0 to 2^40", strconv.FormatInt(n, 10))
		}
	}
	switch {
	case l.RPM+l.TPM+l.ITPM+l.OTPM == 0:
		return wrong(field, "at least one limit", "none")
	case l.TPM > 0 && l.ITPM+l.OTPM > 0:
		return wrong(field+".TPM", "0 with ITPM or OTPM", strconv.FormatInt(l.TPM, 10))
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, c.Provider.String())
	c.Output = cmp.Or(c.Output, defaultOutput)
	uncounted := c.Provider == Anthropic || c.Provider == Bedrock
	switch {
	case c.CachedPercent == 0 && !uncounted:
		c.CachedPercent = 100
	case c.CachedPercent == -1:
		c.CachedPercent = 0
	}
	return c
}

// perMinute returns the limit of a limiter for n units per minute at the provider.
// The bucket is smaller than the provider's by the units of a second: calls that take
// a second less on their way than others do not find it empty.
func (l *Limits) perMinute(n int64) weir.Limit {
	if margin := (n + 59) / 60; l.Bucket && n > margin {
		return weir.PerMinute(n).WithBurst(n - margin)
	}
	return weir.Per(n, time.Minute).By(weir.SlidingWindow).Stretch(time.Second)
}
