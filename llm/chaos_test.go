package llm_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/llm"
	"github.com/goweir/weir/store/localstore"
)

// streams are bodies of responses, some of them broken.
var streams = []string{
	`{"usage":{"prompt_tokens":10,"completion_tokens":20}}`,
	`{"usage":{"prompt_tokens":-10,"completion_tokens":1e30}}`,
	"data: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\r\rdata: {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\r\n\n",
	"data: [DONE]\n\ndata: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n",
	"data: {\"choices\":[{\"delta\":\"\xe2\x82",
	"data: " + strings.Repeat("x", 20_000),
	strings.Repeat(`{"usage":[`, 50_000),
	"\x1f\x8b\x08\x00", "",
}

// TestChaosLeavesNothing: providers that break streams, tokenizers, Hooks and bases that
// panic, and callers that leave at any moment: each call ends, its body is closed once, and
// an hour later the next call leaves at once.
func TestChaosLeavesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(long.Of(200)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { chaos(t, seed) })
		})
	}
}

func chaos(t *testing.T, seed uint64) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 9))
	upTo := func(n int64) int64 {
		mu.Lock()
		defer mu.Unlock()
		return rng.Int64N(n)
	}
	boom := errors.New("chaos")
	panics := func(n int64) {
		if upTo(n) == 0 {
			panic(boom)
		}
	}
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	limits := llm.Limits{RPM: 300, ITPM: 20_000, OTPM: 10_000, Bucket: seed%2 == 0}
	calm := false
	tr, err := llm.NewTransport(s, llm.Config{
		Provider: llm.OpenAI, Limits: limits, MaxWait: time.Duration(upTo(int64(3 * time.Minute))),
		Tokens: func(string, []byte) int64 {
			if !calm {
				panics(50)
			}
			return upTo(4000) - 500
		},
		Hook: func(context.Context, weir.Event) {
			if !calm {
				panics(200)
			}
		},
		Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
			if calm {
				return status(200)
			}
			time.Sleep(time.Duration(upTo(int64(5 * time.Second))))
			if panics(50); upTo(20) == 0 {
				return nil, boom
			}
			body := io.Reader(strings.NewReader(streams[upTo(int64(len(streams)))]))
			switch upTo(4) {
			case 0:
				body = iotest.DataErrReader(io.MultiReader(body, iotest.ErrReader(boom)))
			case 1:
				body = iotest.OneByteReader(io.LimitReader(body, 3000))
			}
			kind := []string{"application/json", "text/event-stream", "", "application/vnd.amazon.eventstream"}[upTo(4)]
			code := []int{200, 200, 200, 200, 500, 400, 429, 503}[upTo(8)]
			return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(body), Request: r}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	var bodies []*once
	send := func(ctx context.Context) error {
		body := &once{Reader: strings.NewReader(`{"model":"m-1","max_tokens":` + strconv.FormatInt(upTo(3000), 10) + `}`)}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://llm.example/v1/chat/completions", body)
		if err != nil {
			return err
		}
		mu.Lock()
		bodies = append(bodies, body)
		mu.Unlock()
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 4 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(upTo(int64(4*time.Minute)))-time.Second)
				if upTo(3) == 0 {
					ctx = weir.InBackground(ctx)
				}
				if upTo(3) == 0 {
					time.AfterFunc(time.Duration(upTo(int64(time.Minute))), cancel)
				}
				func() {
					defer func() {
						if r := recover(); r != nil && r != boom {
							panic(r)
						}
					}()
					_ = send(ctx)
				}()
				cancel()
			}
		})
	}
	wg.Wait()
	for _, b := range bodies {
		if n := b.closed.Load(); n != 1 {
			t.Errorf("a body was closed %d times", n)
		}
	}
	time.Sleep(time.Hour)
	calm = true
	start := time.Now()
	if err := send(t.Context()); err != nil || time.Since(start) > 0 {
		t.Errorf("the next call: %v after %v", err, time.Since(start))
	}
}
