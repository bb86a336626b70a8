package llmclients

import (
	"context"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// newAnthropic returns Anthropic's client.
func newAnthropic(transport http.RoundTripper, url, key string) anthropic.Client {
	return anthropic.NewClient(
		option.WithHTTPClient(&http.Client{Transport: transport}),
		option.WithMaxRetries(0),
		option.WithBaseURL(url),
		option.WithAPIKey(key),
	)
}

// askAnthropic returns a whole answer.
func askAnthropic(ctx context.Context, client anthropic.Client, model, question string) (string, error) {
	answer, err := client.Messages.New(ctx, message(model, question))
	if err != nil {
		return "", err
	}
	return answer.Content[0].Text, nil
}

// streamAnthropic returns an answer that comes in parts.
func streamAnthropic(ctx context.Context, client anthropic.Client, model, question string) (string, error) {
	stream := client.Messages.NewStreaming(ctx, message(model, question))
	defer func() { _ = stream.Close() }()
	var answer strings.Builder
	for stream.Next() {
		answer.WriteString(stream.Current().Delta.Text)
	}
	return answer.String(), stream.Err()
}

func message(model, question string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model:     anthropic.Model(model),
		MaxTokens: 300,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
	}
}
