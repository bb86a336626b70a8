package llm

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Provider is an API's form of requests and responses. Many services speak OpenAI's.
type Provider uint8

const (
	// OpenAI: chat completions, responses and embeddings.
	OpenAI Provider = iota + 1
	// Anthropic: messages.
	Anthropic
	// Gemini: generateContent and streamGenerateContent, of Vertex AI too.
	Gemini
	// Bedrock: Converse and ConverseStream.
	Bedrock

	providers
)

var providerNames = [providers]string{"", "openai", "anthropic", "gemini", "bedrock"}

// String returns the provider's name in lower case.
func (p Provider) String() string {
	if p == 0 || p >= providers {
		return fmt.Sprintf("provider(%d)", uint8(p))
	}
	return providerNames[p]
}

// free reports whether a provider charges no tokens for a response with such a status: it
// redirected or refused the request, or is overloaded. Otherwise the model may have run.
func free(status int) bool {
	switch status {
	case http.StatusRequestTimeout, 499:
		return false
	case http.StatusServiceUnavailable, 529:
		return true
	}
	return status >= 300 && status < 500
}

// modelOfURL returns the model that a path names:
//
//	/v1beta/models/gemini-2.5-pro:generateContent      Gemini, Vertex AI
//	/model/anthropic.claude-3-haiku/converse           Bedrock
//	/openai/deployments/my-gpt/chat/completions        Azure
func modelOfURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	segments := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for i := 0; i+1 < len(segments); i++ {
		name, err := url.PathUnescape(segments[i+1])
		if err != nil {
			continue
		}
		model, _, acts := strings.Cut(name, ":")
		switch {
		case segments[i] == "models" && acts:
			return model
		case segments[i] == "model" || segments[i] == "deployments":
			return name
		}
	}
	return ""
}

// embeds reports whether a path has "embeddings", "embedContent" or the like.
func embeds(u *url.URL) bool {
	return u != nil && (strings.HasSuffix(u.Path, "/embeddings") || strings.Contains(u.Path, "mbedContent"))
}
