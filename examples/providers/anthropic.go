package providers

import (
	"net/http"
	"time"

	"github.com/goweir/weir"
)

// Anthropic returns a client for one class of models, whose limits depend on the class
// and the tier.
//
//	anthropic/requests        requests per minute
//	anthropic/input-tokens    tokens per minute: an estimate, settled by the end of the body
//	anthropic/output-tokens   the same
func Anthropic(store weir.Store, token string, requests, input, output int64, base http.RoundTripper) (*http.Client, error) {
	key := perToken("X-Api-Key")
	rpm, err := level(store, "anthropic/requests", key, weir.Outbound(requests, time.Minute))
	if err != nil {
		return nil, err
	}
	in, err := level(store, "anthropic/input-tokens", key, weir.Outbound(input, time.Minute))
	if err != nil {
		return nil, err
	}
	out, err := level(store, "anthropic/output-tokens", key, weir.Outbound(output, time.Minute))
	if err != nil {
		return nil, err
	}
	in.Cost = func(r *http.Request) (int64, error) { return min(promptTokens(r), input), nil }
	in.Settle = usage("input_tokens", "cache_creation_input_tokens") // Tokens from the cache don't count.
	out.Cost = func(*http.Request) (int64, error) { return min(1000, output), nil }
	out.Settle = usage("output_tokens")
	return newClient("api.anthropic.com", header{"X-Api-Key", token}, base, rpm, in, out)
}
