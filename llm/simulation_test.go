package llm_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/llm"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

// tries returns the number of tries of a test.
func tries(full, short int) int {
	if long.Race {
		return short
	}
	return long.Or(full, short)
}

// percent returns a share of 1 to 100 that depends on a body alone.
func percent(body []byte) int64 {
	h := fnv.New32a()
	_, _ = h.Write(body)
	return int64(h.Sum32()>>8%100) + 1
}

// partly is the real cost of a request: 1 to 100 % of the estimates.
func partly(body []byte, in, out int64) (int64, int64) {
	p := percent(body)
	return max(1, in*p/100), max(1, out*(101-p)/100)
}

// crew is processes that share a store, and a provider that counts.
type crew struct {
	provider *weirtest.Provider
	clients  []*http.Client
	store    *localstore.Store
}

func newCrew(t *testing.T, processes int, provider weirtest.LLMConfig, cfg llm.Config) *crew {
	t.Helper()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := &crew{store: store}
	if c.provider, err = weirtest.NewLLM(provider); err != nil {
		t.Fatal(err)
	}
	if cfg.Base == nil {
		cfg.Base = c.provider.Transport()
	}
	for range processes {
		tr, err := llm.NewTransport(store, cfg)
		if err != nil {
			t.Fatal(err)
		}
		c.clients = append(c.clients, &http.Client{Transport: tr})
	}
	return c
}

// prompt returns the body of a request. Requests with different numbers have unlike sizes.
func prompt(n int, maxTokens int64, stream bool) string {
	text := strings.Repeat("word ", n*37%400)
	return fmt.Sprintf(`{"model":"m-1","max_tokens":%d,"stream":%v,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"%d %s"}]}`, maxTokens, stream, n, text)
}

// send sends a request and reads its answer.
func (c *crew) send(ctx context.Context, process int, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://llm.example/v1"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := c.clients[process].Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return err
}

// TestFleetUsesItsBudgets: four processes with more work than their budgets allow use
// them, and the provider refuses none of their requests.
func TestFleetUsesItsBudgets(t *testing.T) {
	t.Parallel()
	minutes := tries(10, 3)
	for name, test := range map[string]struct {
		provider  llm.Provider
		path      string
		limits    llm.Limits
		algorithm weir.Algorithm
		maxTokens int64
		binds     string
	}{
		"OpenAI, buckets, tokens bind":            {llm.OpenAI, "/chat/completions", llm.Limits{RPM: 600, TPM: 60_000, Bucket: true}, weir.GCRA, 500, "tpm"},
		"OpenAI, buckets, requests bind":          {llm.OpenAI, "/chat/completions", llm.Limits{RPM: 60, TPM: 200_000, Bucket: true}, weir.GCRA, 500, "rpm"},
		"OpenAI, sliding windows, tokens bind":    {llm.OpenAI, "/chat/completions", llm.Limits{RPM: 600, TPM: 60_000}, weir.SlidingWindow, 500, "tpm"},
		"OpenAI, sliding windows, requests bind":  {llm.OpenAI, "/responses", llm.Limits{RPM: 60, TPM: 200_000}, weir.SlidingWindow, 500, "rpm"},
		"Anthropic, buckets, output binds":        {llm.Anthropic, "/messages", llm.Limits{RPM: 600, ITPM: 100_000, OTPM: 40_000, Bucket: true}, weir.GCRA, 800, "otpm"},
		"Anthropic, buckets, input binds":         {llm.Anthropic, "/messages", llm.Limits{RPM: 600, ITPM: 30_000, OTPM: 400_000, Bucket: true}, weir.GCRA, 800, "itpm"},
		"Anthropic, sliding windows, input binds": {llm.Anthropic, "/messages", llm.Limits{RPM: 600, ITPM: 30_000, OTPM: 400_000}, weir.SlidingWindow, 800, "itpm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := test.limits
				c := newCrew(t, 4, weirtest.LLMConfig{
					RPM: l.RPM, TPM: l.TPM, ITPM: l.ITPM, OTPM: l.OTPM, Algorithm: test.algorithm,
					Used: partly, Pace: 100 * time.Millisecond, Events: 4,
					Travel: func(r *http.Request) time.Duration { return time.Duration(r.ContentLength%97) * time.Millisecond },
				}, llm.Config{Provider: test.provider, Limits: l})
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(minutes)*time.Minute)
				defer cancel()
				var next, served, used atomic.Int64
				var wg sync.WaitGroup
				for worker := range 80 {
					wg.Go(func() {
						for ctx.Err() == nil {
							n := int(next.Add(1))
							body := prompt(n, test.maxTokens, n%4 > 0)
							if err := c.send(ctx, worker%4, test.path, body); err != nil {
								if ctx.Err() == nil {
									t.Error(err)
								}
								continue
							}
							served.Add(1)
							in, out := partly([]byte(body), int64(len(body)+3)/4, test.maxTokens)
							used.Add(map[string]int64{"rpm": 1, "tpm": in + out, "itpm": in, "otpm": out}[test.binds])
						}
					})
				}
				wg.Wait()
				limit := map[string]int64{"rpm": l.RPM, "tpm": l.TPM, "itpm": l.ITPM, "otpm": l.OTPM}[test.binds]
				admits := limit * int64(minutes)
				if test.algorithm == weir.GCRA {
					admits += limit
				}
				share := 100 * float64(used.Load()) / float64(admits)
				t.Logf("%d requests served, %.1f %% of %s used, %+v", served.Load(), share, test.binds, c.provider.Counts())
				if n := c.provider.Counts().Refused(); n != 0 {
					t.Errorf("%d requests were refused, want 0", n)
				}
				if share < 95 || share > 100 {
					t.Errorf("%.1f %% of %s used, want 95 to 100", share, test.binds)
				}
			})
		})
	}
}
