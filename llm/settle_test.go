package llm_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/llm"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func status(code int) (*http.Response, error) {
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"error":{}}`))}, nil
}

// usedOf returns the used units of a key under a limit, once no refusal slows the key
// down.
func usedOf(t *testing.T, s weir.Store, name, key string, limit weir.Limit) int64 {
	t.Helper()
	l, err := weir.New(weir.Config{Name: name, Store: s, Limits: []weir.Limit{limit}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Resume(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	d, err := l.Peek(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return limit.Rate - d.Remaining
}

// perMinute is the limit that a Transport makes of n units a minute.
func perMinute(n int64) weir.Limit {
	return weir.Per(n, time.Minute).By(weir.SlidingWindow).Stretch(time.Second)
}

// TestNothingStaysReserved: 10 000 requests (2000 by default) end in all ways. Then the
// store counts their real costs, and no more.
func TestNothingStaysReserved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 1_000_000_000
		s, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		provider, err := weirtest.NewLLM(weirtest.LLMConfig{
			Used: partly, Pace: time.Millisecond, Piece: 11,
			Cut: func(body []byte) bool { return strings.Contains(string(body), `"9 `) },
		})
		if err != nil {
			t.Fatal(err)
		}
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			r.Context().Value(sentKey{}).(*atomic.Bool).Store(true)
			switch way := r.Header.Get("Way"); way {
			case "panic":
				_ = r.Body.Close()
				panic("base")
			case "dial":
				_ = r.Body.Close()
				return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
			case "307", "400", "429", "500":
				_ = r.Body.Close()
				code, _ := strconv.Atoi(way)
				return status(code)
			}
			return provider.Transport().RoundTrip(r)
		})
		tr, err := llm.NewTransport(s, llm.Config{Provider: llm.OpenAI, Limits: llm.Limits{RPM: most, TPM: most}, Base: base})
		if err != nil {
			t.Fatal(err)
		}
		ways := []string{"whole", "stream", "broken", "closed early", "cancelled", "never sent", "panic", "dial", "307", "400", "429", "500"}
		var requests, tokens atomic.Int64
		var wg sync.WaitGroup
		for worker := range 100 {
			wg.Go(func() {
				for n := range tries(100, 20) {
					in, out := end(t, tr, ways[(worker+n)%len(ways)], n)
					if in+out >= 0 {
						requests.Add(1)
						tokens.Add(in + out)
					}
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second) // for the last settlements
		if got, want := usedOf(t, s, "openai tpm", "model m-1", perMinute(most)), tokens.Load(); got != want {
			t.Errorf("%d tokens are counted, want %d", got, want)
		}
		if got, want := usedOf(t, s, "openai rpm", "model m-1", perMinute(most)), requests.Load(); got != want {
			t.Errorf("%d requests are counted, want %d", got, want)
		}
	})
}

// sentKey is the context key of a mark: the base has the request.
type sentKey struct{}

// end sends a request that ends in a given way, and returns its real cost. in is below 0
// if the request was not sent.
func end(t *testing.T, tr http.RoundTripper, way string, n int) (in, out int64) {
	sent := new(atomic.Bool)
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), sentKey{}, sent))
	defer cancel()
	defer func() { _ = recover() }()
	if way == "broken" {
		n = 9
	}
	body := prompt(n, 400, way != "whole")
	estimate := int64(len(body)+3) / 4
	in, out = estimate, 400
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://llm.example/v1/chat/completions", strings.NewReader(body))
	req.Header.Set("Way", way)
	switch way {
	case "never sent":
		cancel()
	case "cancelled":
		time.AfterFunc(2*time.Millisecond, cancel)
	}
	resp, err := tr.RoundTrip(req)
	switch {
	case !sent.Load() || way == "dial":
		in, out = -1, 0
	case way == "307" || way == "400" || way == "429":
		in, out = 0, 0
	}
	if err != nil {
		return in, out
	}
	defer func() { _ = resp.Body.Close() }()
	if way == "closed early" {
		_, _ = io.ReadFull(resp.Body, make([]byte, 100))
		return in, out
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if ok := way == "whole" || way == "stream" && n != 9; ok {
		if err != nil {
			t.Error(err)
		}
		in, out = partly([]byte(body), estimate, 400)
	}
	return in, out
}

// TestUnsentCallCostsNothing: the store fails after it has admitted a request, so the request
// is not sent.
func TestUnsentCallCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		s := weirtest.NewStore(local)
		s.Next(weirtest.Pass(), weirtest.Fail(nil))
		tr, err := llm.NewTransport(s, llm.Config{Provider: llm.OpenAI, Name: "n", Models: map[string]llm.Limits{"m": {TPM: 10_000}},
			Base: roundTripper(func(*http.Request) (*http.Response, error) {
				t.Error("the request was sent")
				return status(200)
			})})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.test/v1/chat/completions", strings.NewReader(`{"model":"m","max_tokens":100}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.RoundTrip(req); !errors.Is(err, weir.ErrStore) {
			t.Errorf("%v, want a failure of the store", err)
		}
		synctest.Wait()
		if used := usedOf(t, local, "n m tpm", "m", perMinute(10_000)); used != 0 {
			t.Errorf("%d tokens stay booked, want none", used)
		}
	})
}
