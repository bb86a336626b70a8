package llmclients

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/goweir/weir"
)

// newLangchain returns langchaingo's client for OpenAI.
func newLangchain(transport http.RoundTripper, url, key, model string) (*openai.LLM, error) {
	return openai.New(
		openai.WithHTTPClient(doer{&http.Client{Transport: transport}}),
		openai.WithBaseURL(url),
		openai.WithToken(key),
		openai.WithModel(model),
	)
}

// doer keeps weir's errors. Without it langchaingo turns a *url.Error into a text.
type doer struct{ client *http.Client }

func (d doer) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.client.Do(req)
	var failed *url.Error
	if errors.As(err, &failed) && errors.Is(err, weir.ErrLimited) {
		return nil, failed.Err
	}
	return resp, err
}

// askLangchain returns a whole answer.
func askLangchain(ctx context.Context, client *openai.LLM, question string) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, client, question, openai.WithMaxCompletionTokens(300))
}

// streamLangchain returns an answer that comes in parts. langchaingo asks for the
// stream's usage by itself.
func streamLangchain(ctx context.Context, client *openai.LLM, question string) (answer string, err error) {
	_, err = llms.GenerateFromSinglePrompt(ctx, client, question, openai.WithMaxCompletionTokens(300),
		llms.WithStreamingFunc(func(_ context.Context, part []byte) error {
			answer += string(part)
			return nil
		}))
	return answer, err
}
