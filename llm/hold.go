package llm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

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
