package llm

import "encoding/json"

// Usage is the number of tokens that a response reports.
type Usage struct {
	// Input is the number of input tokens that did not come from the provider's cache,
	// those written into it included. -1: unknown.
	Input int64
	// Cached is the number of input tokens from the provider's cache.
	Cached int64
	// Output is the number of output tokens, those of reasoning included. -1: unknown.
	Output int64
}

// message is the part of a response, or of an event of a stream, with the usage.
type message struct {
	Type          string
	Usage         json.RawMessage
	UsageMetadata json.RawMessage // Gemini
	Message       struct{ Usage json.RawMessage }
	Response      struct{ Usage, UsageMetadata json.RawMessage }
	Choices       *[]json.RawMessage
	Candidates    []struct{ FinishReason string }
}

// read returns the usage that a message reports.
func (m *message) read(p Provider) (u Usage, found bool) {
	for _, raw := range []json.RawMessage{m.Usage, m.UsageMetadata, m.Message.Usage, m.Response.Usage, m.Response.UsageMetadata} {
		if u, found = readCounts(p, raw); found {
			break
		}
	}
	if len(m.Message.Usage) > 0 {
		u.Output = -1 // Anthropic's message_start, before any output
	}
	return u, found
}

// last reports whether a message is the last one with a usage in a stream.
func (m *message) last() bool {
	switch m.Type {
	case "message_delta", "message_stop", "response.completed", "response.incomplete", "response.failed":
		return true
	}
	return m.Choices != nil && len(*m.Choices) == 0 || len(m.Candidates) > 0 && m.Candidates[0].FinishReason != ""
}

// counts are the names of all providers.
type counts struct {
	// OpenAI's chat completions.
	Prompt     *float64 `json:"prompt_tokens"`
	Completion *float64 `json:"completion_tokens"`
	Total      *float64 `json:"total_tokens"`
	PromptOf   cachedOf `json:"prompt_tokens_details"`
	// OpenAI's responses, and Anthropic.
	Input      *float64 `json:"input_tokens"`
	Output     *float64 `json:"output_tokens"`
	InputOf    cachedOf `json:"input_tokens_details"`
	CacheWrite *float64 `json:"cache_creation_input_tokens"`
	CacheRead  *float64 `json:"cache_read_input_tokens"`
	// Gemini.
	PromptCount     *float64 `json:"promptTokenCount"`
	ToolCount       *float64 `json:"toolUsePromptTokenCount"`
	CachedCount     *float64 `json:"cachedContentTokenCount"`
	CandidatesCount *float64 `json:"candidatesTokenCount"`
	ThoughtsCount   *float64 `json:"thoughtsTokenCount"`
	TotalCount      *float64 `json:"totalTokenCount"`
	// Bedrock.
	InputTokens           *float64 `json:"inputTokens"`
	OutputTokens          *float64 `json:"outputTokens"`
	CacheReadInputTokens  *float64 `json:"cacheReadInputTokens"`
	CacheWriteInputTokens *float64 `json:"cacheWriteInputTokens"`
}

type cachedOf struct {
	Cached *float64 `json:"cached_tokens"`
}

// readCounts reads a usage object. Numbers that can't be are unknown.
func readCounts(p Provider, raw json.RawMessage) (u Usage, found bool) {
	var c counts
	if len(raw) == 0 || json.Unmarshal(raw, &c) != nil {
		return Usage{-1, 0, -1}, false
	}
	u.Input = first(c.Prompt, c.Input, c.PromptCount, c.InputTokens)
	u.Output = first(c.Completion, c.Output, c.CandidatesCount, c.OutputTokens)
	u.Cached = max(0, first(c.PromptOf.Cached, c.InputOf.Cached, c.CachedCount, c.CacheRead, c.CacheReadInputTokens))
	unnamed := c.Completion == nil && c.Output == nil && c.CandidatesCount == nil && c.OutputTokens == nil
	if unnamed && u.Input >= 0 && (c.Total != nil || c.TotalCount != nil) {
		u.Output = 0 // an embedding, or a prompt that Gemini has blocked
	}
	if u.Output >= 0 {
		u.Output += max(0, first(c.ThoughtsCount))
	}
	switch {
	case u.Input < 0:
		u.Cached = 0
	case p == Anthropic || p == Bedrock: // Their input leaves the cache out.
		u.Input += max(0, first(c.CacheWrite, c.CacheWriteInputTokens))
	default:
		u.Input += max(0, first(c.ToolCount))
		u.Cached = min(u.Cached, u.Input)
		u.Input -= u.Cached
	}
	return u, u.Input >= 0 || u.Output >= 0
}

// first returns the first number that can be a count, or -1.
func first(numbers ...*float64) int64 {
	for _, n := range numbers {
		if n, ok := count(n); ok {
			return n
		}
	}
	return -1
}

// add makes u the usage of a stream after a later event. Later counts win, but for an
// empty input: some gateways report none in the last event.
func (u *Usage) add(later Usage) {
	if later.Input+later.Cached > 0 || later.Input == 0 && u.Input < 0 {
		u.Input, u.Cached = later.Input, later.Cached
	}
	if later.Output >= 0 {
		u.Output = later.Output
	}
}

// input returns the input tokens that count, or -1.
func (u Usage) input(cachedPercent int) int64 {
	if u.Input < 0 {
		return -1
	}
	return u.Input + (u.Cached*int64(cachedPercent)+99)/100
}
