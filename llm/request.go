package llm

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
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
	r.Model = cmp.Or(r.Model, in.Model)
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

// heldBody is a body whose beginning was read. Close acts once.
type heldBody struct {
	io.Reader
	close func() error
}

func (b heldBody) Close() error { return b.close() }

// hold reads the beginning of a body that can be read only once, as the AWS SDK sends
// it. It returns that, and a copy of the request that sends all of the body. The copy's
// body closes the request's, also after an error.
func hold(req *http.Request) (*http.Request, []byte, error) {
	held, closeBody := *req, sync.OnceValue(req.Body.Close)
	held.Body = heldBody{req.Body, closeBody}
	stop := context.AfterFunc(req.Context(), func() { _ = closeBody() }) // A reader may block.
	defer stop()
	begin, err := io.ReadAll(io.LimitReader(req.Body, maxBody))
	if ended := req.Context().Err(); ended != nil {
		err = ended
	}
	if err != nil {
		return &held, nil, fmt.Errorf("llm: the request's body: %w", err)
	}
	held.Body = heldBody{io.MultiReader(bytes.NewReader(begin), req.Body), closeBody}
	if len(begin) < maxBody {
		held.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(begin)), nil }
	}
	return &held, begin, nil
}
