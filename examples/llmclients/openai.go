package llmclients

import (
	"context"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// newOpenAI returns OpenAI's client.
func newOpenAI(transport http.RoundTripper, url, key string) openai.Client {
	return openai.NewClient(
		option.WithHTTPClient(&http.Client{Transport: transport}),
		option.WithMaxRetries(0),
		option.WithBaseURL(url),
		option.WithAPIKey(key),
	)
}

// askOpenAI returns a whole answer.
func askOpenAI(ctx context.Context, client openai.Client, model, question string) (string, error) {
	answer, err := client.Chat.Completions.New(ctx, chat(model, question))
	if err != nil {
		return "", err
	}
	return answer.Choices[0].Message.Content, nil
}

// streamOpenAI returns an answer that comes in parts. Without IncludeUsage a stream
// reports no usage, and its estimate stays booked.
func streamOpenAI(ctx context.Context, client openai.Client, model, question string) (string, error) {
	params := chat(model, question)
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	defer func() { _ = stream.Close() }()
	var answer strings.Builder
	for stream.Next() {
		for _, c := range stream.Current().Choices {
			answer.WriteString(c.Delta.Content)
		}
	}
	return answer.String(), stream.Err()
}

func chat(model, question string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:               model,
		MaxCompletionTokens: openai.Int(300),
		Messages:            []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
	}
}
