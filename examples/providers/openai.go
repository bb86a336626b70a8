package providers

import (
	"net/http"
	"time"

	"github.com/goweir/weir"
)

// OpenAI returns a client for one model, whose limits depend on the model and the tier.
//
//	openai/requests   requests per minute
//	openai/tokens     tokens per minute: an estimate, settled by the end of the body
func OpenAI(store weir.Store, token string, requests, tokens int64, base http.RoundTripper) (*http.Client, error) {
	key := perToken("Authorization")
	rpm, err := level(store, "openai/requests", key, weir.Outbound(requests, time.Minute))
	if err != nil {
		return nil, err
	}
	tpm, err := level(store, "openai/tokens", key, weir.Outbound(tokens, time.Minute))
	if err != nil {
		return nil, err
	}
	tpm.Cost = func(r *http.Request) (int64, error) { return min(promptTokens(r)+1000, tokens), nil }
	tpm.Settle = usage("total_tokens")
	return newClient("api.openai.com", bearer(token), base, rpm, tpm)
}
