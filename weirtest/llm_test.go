package weirtest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

func postLLM(ctx context.Context, t *testing.T, p *weirtest.Provider, path, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://llm.example/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return p.Transport().RoundTrip(req)
}

func newLLM(t *testing.T, cfg weirtest.LLMConfig) *weirtest.Provider {
	t.Helper()
	p, err := weirtest.NewLLM(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLLMStreams: a stream comes as it is written, in any pieces, and its text is the
// same.
func TestLLMStreams(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/chat/completions", "/responses", "/messages"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				texts := map[int]string{}
				for _, piece := range []int{0, 1, 7} {
					p := newLLM(t, weirtest.LLMConfig{Pace: time.Second, Events: 3, Piece: piece})
					start := time.Now()
					resp, err := postLLM(t.Context(), t, p, path, `{"model":"m","max_tokens":77,"stream":true,"stream_options":{"include_usage":true}}`)
					if err != nil || time.Since(start) > 0 {
						t.Fatalf("%v after %v, want a response at once", err, time.Since(start))
					}
					text, err := io.ReadAll(resp.Body)
					if err != nil || time.Since(start) != 3*time.Second || !strings.Contains(string(text), ":77") {
						t.Errorf("%v after %v: %s", err, time.Since(start), text)
					}
					_ = resp.Body.Close()
					texts[piece] = string(text)
				}
				if texts[0] != texts[1] || texts[0] != texts[7] {
					t.Errorf("texts differ: %v", texts)
				}
			})
		})
	}
}

// TestLLMCounts: a request is charged its estimate while it runs, then its real cost.
// An answer that broke, or that the client has closed, keeps the estimate.
func TestLLMCounts(t *testing.T) {
	t.Parallel()
	const body = `{"model":"m","max_tokens":100,"stream":true}`
	for name, test := range map[string]struct {
		cut  bool
		end  func(*http.Response)
		want int64 // of 1000
	}{
		"served": {false, func(r *http.Response) { _, _ = io.Copy(io.Discard, r.Body) }, 990},
		"cut":    {true, func(r *http.Response) { _, _ = io.Copy(io.Discard, r.Body) }, 900},
		"closed": {false, func(r *http.Response) { _ = r.Body.Close() }, 900},
	} {
		for _, algorithm := range []store.Algorithm{store.GCRA, store.SlidingWindow, store.FixedWindow} {
			t.Run(name+", "+algorithm.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var left int64
					p := newLLM(t, weirtest.LLMConfig{
						OTPM: 1000, Algorithm: algorithm, Pace: time.Microsecond,
						Used: func(_ []byte, in, _ int64) (int64, int64) { return in, 10 },
						Cut:  func([]byte) bool { return test.cut },
						Hook: func(_ http.Header, _ *http.Request, a weirtest.Answer) { left = a.Limits[0].Remaining },
					})
					resp, err := postLLM(t.Context(), t, p, "/messages", body)
					if err != nil || left != 900 {
						t.Fatalf("%v, %d left of 1000 at the start, want 900", err, left)
					}
					test.end(resp)
					_ = resp.Body.Close()
					synctest.Wait()
					if resp, err = postLLM(t.Context(), t, p, "/messages", body); err != nil || left != test.want-100 {
						t.Errorf("%v, %d left, want %d", err, left, test.want-100)
					}
					_ = resp.Body.Close()
					synctest.Wait()
				})
			})
		}
	}
}

// TestStreamOfALostCaller: the handler ends when its caller goes away.
func TestStreamOfALostCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newLLM(t, weirtest.LLMConfig{Pace: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := postLLM(ctx, t, p, "/messages", `{"model":"m","stream":true}`)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Error("the stream ended well")
		}
		_ = resp.Body.Close()
		time.Sleep(2 * time.Second)
		if c := p.Counts(); c.InFlight != 0 || c.OpenBodies != 0 {
			t.Errorf("%+v", c)
		}
	})
}
