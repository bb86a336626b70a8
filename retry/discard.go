package retry

import (
	"context"
	"io"
	"net/http"
	"time"
)

const (
	maxDiscard  = 4 << 10     // bytes
	discardTime = time.Second // of a pause
)

// discard closes a response that a further attempt replaces. Before that it reads
// a short body for part of the pause, so that the connection can be used again.
// The close frees the call's place in flight early in a long pause.
func discard(ctx context.Context, resp *http.Response, pause time.Duration) {
	body := resp.Body
	if body == nil {
		return
	}
	if body != http.NoBody && resp.ContentLength <= maxDiscard {
		read := make(chan struct{})
		go func() {
			defer close(read)
			defer func() { _ = recover() }() // A panic of the body here would end the program.
			_, _ = io.CopyN(io.Discard, body, maxDiscard)
		}()
		select {
		case <-read:
		case <-time.After(min(pause, discardTime)):
		case <-ctx.Done():
		}
	}
	_ = body.Close() // ends a read that is still under way
}
