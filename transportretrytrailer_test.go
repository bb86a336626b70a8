package weir_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/goweir/weir"
)

// summedBody is a body that knows its sum when it has been read, and puts it into
// a trailer of the request it was made for.
type summedBody struct {
	io.Reader
	req *http.Request
	sum string
}

func (b *summedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		b.req.Trailer.Set("X-Sum", b.sum)
	}
	return n, err
}

func (*summedBody) Close() error { return nil }

// TestRetrySendsTrailers that a body makes known at its end, each time those of
// its own.
func TestRetrySendsTrailers(t *testing.T) {
	t.Parallel()
	const times = 3
	var sums []string
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sums = append(sums, string(body)+" "+r.Trailer.Get("X-Sum")+" "+r.Trailer.Get("X-Known"))
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	retryNetwork(t, answer, weir.Retry{Times: times, Backoff: 1}, func(client *http.Client, _ *retryPipes) {
		req, err := http.NewRequest(http.MethodPut, "http://api.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		made := 0
		req.GetBody = func() (io.ReadCloser, error) {
			made++
			return &summedBody{strings.NewReader("text"), req, fmt.Sprint(made)}, nil
		}
		req.Body, _ = req.GetBody()
		req.ContentLength = -1
		req.Trailer = http.Header{"X-Sum": nil, "X-Known": {"before"}}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	})
	for i, got := range sums {
		if want := fmt.Sprintf("text %d before", i+1); got != want {
			t.Errorf("attempt %d sent %q, want %q", i+1, got, want)
		}
	}
	if len(sums) != times+1 {
		t.Errorf("%d attempts", len(sums))
	}
}
