package llm

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxBody is the maximum number of bytes of a request's body that are read. A longer
// body has no model and no maximum but those of its URL.
const maxBody = 16 << 20

// maxTokens bounds every count of tokens.
const maxTokens = 1 << 40

// Request is an estimate of a request, from its URL and body.
type Request struct {
	// Model is the model's name. Empty: the request names none.
	Model string
	// Input is the estimated number of input tokens: a quarter of the body's bytes.
	// It is high for images and files in the body.
	Input int64
	// MaxOutput is the maximum number of output tokens that the request names, for all
	// its choices together. -1: it names none. 0: it has no output, as an embedding.
	MaxOutput int64
}

// requestBody is the part of a body that ReadRequest understands.
type requestBody struct {
	Model            string
	MaxTokens        *float64 `json:"max_tokens"`
	MaxCompletion    *float64 `json:"max_completion_tokens"`
	MaxOutput        *float64 `json:"max_output_tokens"`
	N                *float64 `json:"n"`
	GenerationConfig struct {
		MaxOutput  *float64 `json:"maxOutputTokens"`
		Candidates *float64 `json:"candidateCount"`
	}
	InferenceConfig struct {
		MaxTokens *float64
	}
}

// errNoGetBody is the error of a request whose body can be read only once.
var errNoGetBody = errors.New("it can be read only once: set GetBody, as http.NewRequest does for a bytes.Reader")

// ReadRequest estimates a request. It reads the body through req.GetBody, up to
// 16 MiB, and leaves req.Body alone. It understands JSON, also compressed by gzip. A
// body that is no JSON is no error. An error means that the body can't be read.
func ReadRequest(req *http.Request) (Request, error) {
	body, err := readBody(req)
	if err != nil {
		return Request{}, err
	}
	r, _ := estimate(req, body)
	return r, nil
}

// estimate estimates a request from the beginning of its body. It returns the whole
// body too, without its compression.
func estimate(req *http.Request, body []byte) (Request, []byte) {
	if strings.EqualFold(req.Header.Get("Content-Encoding"), "gzip") {
		body = gunzip(body)
	}
	r := Request{Model: modelOfURL(req.URL), Input: (int64(len(body)) + 3) / 4, MaxOutput: -1}
	if len(body) >= maxBody {
		r.Input = min((max(req.ContentLength, maxBody)+3)/4, maxTokens)
		return r, nil
	}
	var in requestBody
	// A field of a wrong type is left out. The provider will refuse it.
	_ = json.Unmarshal(body, &in)
	if r.Model == "" {
		r.Model = in.Model
	}
	maxima := []*float64{in.MaxCompletion, in.MaxOutput, in.MaxTokens, in.GenerationConfig.MaxOutput, in.InferenceConfig.MaxTokens}
	for _, m := range maxima {
		if n, ok := count(m); ok && n > 0 {
			r.MaxOutput = max(r.MaxOutput, n)
		}
	}
	for _, m := range []*float64{in.N, in.GenerationConfig.Candidates} {
		if n, ok := count(m); ok && n > 1 && r.MaxOutput > 0 {
			r.MaxOutput = min(r.MaxOutput*min(n, 1000), maxTokens)
		}
	}
	if embeds(req.URL) {
		r.MaxOutput = 0
	}
	return r, body
}

// gunzip returns the beginning of a compressed body; the body itself if it is broken.
func gunzip(body []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return body
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxBody))
	if err != nil {
		return body
	}
	return plain
}

// readBody returns the beginning of the body.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	if req.GetBody == nil {
		return nil, fmt.Errorf("llm: the request's body: %w", errNoGetBody)
	}
	copied, err := req.GetBody()
	if err != nil || copied == nil {
		return nil, fmt.Errorf("llm: the request's body: %w", cmp.Or(err, errNoGetBody))
	}
	body, err := io.ReadAll(io.LimitReader(copied, maxBody))
	_ = copied.Close()
	if err == nil {
		// openai-go's GetBody for a bytes.Reader rewinds req.Body itself, which has to start anew.
		if copied, err = req.GetBody(); err == nil && copied != nil {
			_ = copied.Close()
			return body, nil
		}
	}
	return nil, fmt.Errorf("llm: the request's body: %w", cmp.Or(err, errNoGetBody))
}

// count returns a whole number of tokens.
func count(n *float64) (int64, bool) {
	if n == nil || !(*n >= 0 && *n <= maxTokens) {
		return 0, false
	}
	return int64(*n), true
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
