package llm_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/llm"
	"github.com/goweir/weir/store/localstore"
)

// once is a body that can be read only once, and counts its ends.
type once struct {
	io.Reader
	closed atomic.Int64
}

func (b *once) Close() error {
	b.closed.Add(1)
	if c, ok := b.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

// TestOddRequests: each request is sent as it is, and counted by its body.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	const ask = `{"model":"m-1","max_tokens":70}`
	huge := `{"model":"m-1","max_tokens":70,"text":"` + strings.Repeat("x", 17<<20) + `"}`
	for name, test := range map[string]struct {
		body         string
		encoding     string
		rewinds      bool // it has a GetBody
		model        string
		in, out, rpm int64
	}{
		"no body":                             {rewinds: true},
		"an empty body that can't rewind":     {},
		"a body that can't rewind":            {body: ask, model: "m-1", in: 8, out: 70, rpm: 1},
		"a huge body":                         {body: huge, rewinds: true, in: int64(len(huge)+3) / 4, out: 50, rpm: 1},
		"a huge body that can't rewind":       {body: huge, in: int64(len(huge)+3) / 4, out: 50, rpm: 1},
		"gzip":                                {body: zipped(ask), encoding: "gzip", rewinds: true, model: "m-1", in: 8, out: 70, rpm: 1},
		"gzip that can't rewind":              {body: zipped(ask), encoding: "GZIP", model: "m-1", in: 8, out: 70, rpm: 1},
		"broken gzip":                         {body: "\x1f\x8b123456", encoding: "gzip", rewinds: true, in: 2, out: 50, rpm: 1},
		"not gzip":                            {body: ask, encoding: "gzip", rewinds: true, model: "m-1", in: 8, out: 70, rpm: 1},
		"another encoding":                    {body: "(\xb5/\xfd1234", encoding: "zstd", rewinds: true, in: 2, out: 50, rpm: 1},
		"no JSON":                             {body: "--part\r\n", rewinds: true, in: 2, out: 50, rpm: 1},
		"an unknown shape":                    {body: `[1,{"model":"x"}]`, rewinds: true, in: 5, out: 50, rpm: 1},
		"no model":                            {body: `{"max_tokens":70}`, rewinds: true, in: 5, out: 70, rpm: 1},
		"max_tokens: none":                    {body: `{"model":"m-1"}`, rewinds: true, model: "m-1", in: 4, out: 50, rpm: 1},
		"max_tokens: negative":                {body: `{"model":"m-1","max_tokens":-8}`, rewinds: true, model: "m-1", in: 8, out: 50, rpm: 1},
		"max_tokens: 1e300":                   {body: `{"model":"m-1","max_tokens":1e300}`, rewinds: true, model: "m-1", in: 9, out: 50, rpm: 1},
		"max_tokens: a string":                {body: `{"max_tokens":"8","model":"m-1"}`, rewinds: true, model: "m-1", in: 8, out: 50, rpm: 1},
		"max_tokens: more than a minute's":    {body: `{"model":"m-1","max_tokens":1e12}`, rewinds: true, model: "m-1", in: 9, out: 1 << 30, rpm: 1},
		"a model's name longer than any real": {body: `{"model":"` + strings.Repeat("m", 1000) + `"}`, rewinds: true, model: strings.Repeat("m", 1000), in: 253, out: 50, rpm: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := localstore.New(localstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			var got string
			tr, err := llm.NewTransport(s, llm.Config{
				Provider: llm.OpenAI, Limits: llm.Limits{RPM: 1 << 30, ITPM: 1 << 30, OTPM: 1 << 30}, Output: 50, Refuse: true,
				Base: roundTripper(func(r *http.Request) (*http.Response, error) {
					if r.Body != nil {
						b, _ := io.ReadAll(r.Body)
						got = string(b)
						_ = r.Body.Close()
					}
					resp, err := status(200)
					resp.Request = r
					return resp, err
				}),
			})
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://llm.example/v1/chat/completions", strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			body := &once{Reader: strings.NewReader(test.body)}
			if !test.rewinds {
				req.Body, req.GetBody = body, nil
			}
			if test.encoding != "" {
				req.Header.Set("Content-Encoding", test.encoding)
			}
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Request != req && test.rpm > 0 {
				t.Error("the response names another request")
			}
			_ = resp.Body.Close()
			if got != test.body {
				t.Errorf("sent %d bytes, want all %d", len(got), len(test.body))
			}
			if n := body.closed.Load(); !test.rewinds && n != 1 {
				t.Errorf("the body was closed %d times", n)
			}
			for budget, want := range map[string]int64{"rpm": test.rpm, "itpm": test.in, "otpm": test.out} {
				if n := usedOf(t, s, "openai "+budget, "model "+test.model, perMinute(1<<30)); n != want {
					t.Errorf("%s: %d are counted, want %d", budget, n, want)
				}
			}
		})
	}
}

// TestGetBodyRewinds: a GetBody that returns the body itself, from its beginning, leaves
// all of it to be sent.
func TestGetBodyRewinds(t *testing.T) {
	t.Parallel()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	tr, err := llm.NewTransport(s, llm.Config{
		Provider: llm.OpenAI, Limits: llm.Limits{RPM: 1},
		Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			got, _ = io.ReadAll(r.Body)
			return status(200)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	body := strings.NewReader(`{"model":"m-1"}`)
	req, _ := http.NewRequest(http.MethodPost, "https://llm.example/v1/chat/completions", io.NopCloser(body))
	req.GetBody = func() (io.ReadCloser, error) {
		_, err := body.Seek(0, io.SeekStart)
		return io.NopCloser(body), err
	}
	if _, err := tr.RoundTrip(req); err != nil || string(got) != `{"model":"m-1"}` {
		t.Errorf("sent %q, %v", got, err)
	}
}

// TestUnreadableBodies: the error says that the body can't be read, nothing is sent or
// counted, and the body is closed.
func TestUnreadableBodies(t *testing.T) {
	t.Parallel()
	broken, cause := errors.New("broken"), errors.New("cause")
	for name, test := range map[string]struct {
		body    func() io.Reader
		getBody func() (io.ReadCloser, error)
		ends    bool  // the context ends in a second
		want    error // nil: any
	}{
		"fails":                    {body: func() io.Reader { return iotest.ErrReader(broken) }, want: broken},
		"fails in the middle":      {body: func() io.Reader { return io.MultiReader(strings.NewReader("{"), iotest.ErrReader(broken)) }, want: broken},
		"blocks, and is cancelled": {body: func() io.Reader { r, _ := io.Pipe(); return r }, ends: true, want: cause},
		"GetBody fails": {
			body:    func() io.Reader { return strings.NewReader("{}") },
			getBody: func() (io.ReadCloser, error) { return nil, broken }, want: broken,
		},
		"GetBody returns nothing": {
			body:    func() io.Reader { return strings.NewReader("{}") },
			getBody: func() (io.ReadCloser, error) { return nil, nil },
		},
		"GetBody's body fails": {
			body:    func() io.Reader { return strings.NewReader("{}") },
			getBody: func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(broken)), nil }, want: broken,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, _ := localstore.New(localstore.Config{})
				sent := false
				tr, err := llm.NewTransport(s, llm.Config{
					Provider: llm.OpenAI, Limits: llm.Limits{RPM: 10},
					Base: roundTripper(func(*http.Request) (*http.Response, error) { sent = true; return status(200) }),
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if test.ends {
					time.AfterFunc(time.Second, func() { cancel(cause) })
				}
				body := &once{Reader: test.body()}
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://llm.example/v1/chat/completions", body)
				req.GetBody = test.getBody
				_, err = tr.RoundTrip(req)
				if err == nil || test.want != nil && !errors.Is(err, test.want) || test.ends && !errors.Is(err, context.Canceled) || sent {
					t.Errorf("%v, sent: %v; want %v", err, sent, test.want)
				}
				if n := body.closed.Load(); n != 1 {
					t.Errorf("the body was closed %d times", n)
				}
				if n := usedOf(t, s, "openai rpm", "model ", perMinute(10)); n != 0 {
					t.Errorf("%d requests are counted", n)
				}
			})
		})
	}
}

// TestNoLimits: the error names the model, and says where its limits belong.
func TestNoLimits(t *testing.T) {
	t.Parallel()
	s, _ := localstore.New(localstore.Config{})
	tr, err := llm.NewTransport(s, llm.Config{Provider: llm.OpenAI, Models: map[string]llm.Limits{"gpt-5": {RPM: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"model":"o3"}`: `no limits for the model "o3"`, `{}`: "names no model", `{"model":"` + strings.Repeat("x", 500) + `"}`: `for the model "xxx`,
	} {
		req, _ := http.NewRequest(http.MethodPost, "https://llm.example/v1/chat/completions", strings.NewReader(body))
		if _, err := tr.RoundTrip(req); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Config.Limits") || len(err.Error()) > 250 {
			t.Errorf("%.30s: %v", body, err)
		}
	}
}

// TestOddResponses: a usage that can't be leaves the estimate, and an absurd one stops
// the model for some minutes at most.
func TestOddResponses(t *testing.T) {
	t.Parallel()
	const estimate, limit = 400, 10_000
	for name, test := range map[string]struct {
		kind, body string
		tokens     int64 // that are counted
		wait       time.Duration
	}{
		"usage":               {"application/json", `{"usage":{"prompt_tokens":10,"completion_tokens":20}}`, 30, 0},
		"no usage":            {"application/json", `{"choices":[]}`, estimate, 0},
		"no body":             {"application/json", ``, estimate, 0},
		"an unknown shape":    {"application/json", `[[{"usage":[1]}]]`, estimate, 0},
		"no JSON":             {"text/html", `<html>"usage":{</html>`, estimate, 0},
		"usage: null":         {"application/json", `{"usage":null}`, estimate, 0},
		"usage: negative":     {"application/json", `{"usage":{"prompt_tokens":-1,"completion_tokens":-1}}`, estimate, 0},
		"usage: 1e300":        {"application/json", `{"usage":{"prompt_tokens":1e300,"completion_tokens":1e300}}`, estimate, 0},
		"usage: strings":      {"application/json", `{"usage":{"prompt_tokens":"1","completion_tokens":"2"}}`, estimate, 0},
		"usage: absurd":       {"application/json", `{"usage":{"prompt_tokens":1,"completion_tokens":1000000000000}}`, limit, 15*time.Minute + 2400*time.Millisecond},
		"usage: in a stream":  {"text/event-stream", "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":20}}\n\n", 30, 0},
		"a huge body":         {"application/json", `{"a":"` + strings.Repeat("x", 20<<20) + `","usage":{"prompt_tokens":10,"completion_tokens":20}}`, 30, 0},
		"a huge broken event": {"text/event-stream", "data: {" + strings.Repeat("x", 20<<20), estimate, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, _ := localstore.New(localstore.Config{})
				tr, err := llm.NewTransport(s, llm.Config{
					Provider: llm.OpenAI, Limits: llm.Limits{TPM: limit, Bucket: true},
					Tokens: func(string, []byte) int64 { return 100 },
					Base: roundTripper(func(*http.Request) (*http.Response, error) {
						return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {test.kind}}, Body: io.NopCloser(strings.NewReader(test.body))}, nil
					}),
				})
				if err != nil {
					t.Fatal(err)
				}
				send := func() {
					req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://llm.example/v1/chat/completions", strings.NewReader(`{"model":"m-1","max_tokens":300}`))
					resp, err := tr.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					if n, err := io.Copy(io.Discard, resp.Body); n != int64(len(test.body)) || err != nil {
						t.Errorf("%d bytes, %v", n, err)
					}
					_ = resp.Body.Close()
				}
				send()
				margin := int64(limit+59) / 60
				bucket := weir.PerMinute(limit).WithBurst(limit - margin)
				if n := usedOf(t, s, "openai tpm", "model m-1", bucket) - margin; n != min(test.tokens, limit-margin) {
					t.Errorf("%d tokens are counted, want %d", n, test.tokens)
				}
				start := time.Now()
				send()
				if wait := time.Since(start); wait > test.wait || wait < test.wait*9/10 {
					t.Errorf("the next request waited for %v, want %v", wait, test.wait)
				}
			})
		})
	}
}

// TestTokenizerOfNothing: the real input of a request counts, though Tokens finds none in it.
func TestTokenizerOfNothing(t *testing.T) {
	t.Parallel()
	for _, found := range []int64{0, -5} {
		s, _ := localstore.New(localstore.Config{})
		tr, err := llm.NewTransport(s, llm.Config{
			Provider: llm.OpenAI, Limits: llm.Limits{RPM: 1000, ITPM: 1000},
			Tokens: func(string, []byte) int64 { return found },
			Base: roundTripper(func(*http.Request) (*http.Response, error) {
				body := io.NopCloser(strings.NewReader(`{"usage":{"prompt_tokens":400,"completion_tokens":20}}`))
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequest(http.MethodPost, "https://llm.example/v1/responses", strings.NewReader(`{"model":"m-1","previous_response_id":"a"}`))
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if n := usedOf(t, s, "openai itpm", "model m-1", perMinute(1000)); n != 400 {
			t.Errorf("Tokens returns %d: %d are counted, want 400", found, n)
		}
	}
}

// TestConfigNamesFields: errors of limiters name the fields of this package.
func TestConfigNamesFields(t *testing.T) {
	t.Parallel()
	s, _ := localstore.New(localstore.Config{})
	ok, long := llm.Limits{RPM: 1}, strings.Repeat("m", 80)
	for field, cfg := range map[string]llm.Config{
		"llm.Config.Name":                   {Provider: llm.OpenAI, Name: "é", Limits: ok},
		`llm.Config.Models["` + long + `"]`: {Provider: llm.OpenAI, Models: map[string]llm.Limits{long: ok}},
		"llm.Config.MaxPause":               {Provider: llm.OpenAI, Limits: ok, MaxPause: -1},
		"llm.NewTransport.store":            {Provider: llm.OpenAI, Limits: ok, Name: "no store"},
		"llm.NewTransport.store (can't)":    {Provider: llm.OpenAI, Limits: ok, Name: "takes"},
	} {
		var store weir.Store = s
		switch cfg.Name {
		case "no store":
			store = nil
		case "takes":
			store = takes{s}
		}
		var wrong *weir.ConfigError
		if _, err := llm.NewTransport(store, cfg); !errors.As(err, &wrong) || wrong.Field != strings.TrimSuffix(field, " (can't)") || wrong.Want == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestOtherLimits: two Transports of one name with unlike limits are a mistake, and the
// error names the field.
func TestOtherLimits(t *testing.T) {
	t.Parallel()
	s, _ := localstore.New(localstore.Config{})
	config := func(all, gpt int64) llm.Config {
		return llm.Config{Provider: llm.OpenAI, Limits: llm.Limits{RPM: all}, Models: map[string]llm.Limits{"gpt": {RPM: gpt}}}
	}
	first, err := llm.NewTransport(s, config(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	for field, cfg := range map[string]llm.Config{"llm.Config.Name": config(2, 1), `llm.Config.Models["gpt"]`: config(1, 2)} {
		var wrong *weir.ConfigError
		if _, err := llm.NewTransport(s, cfg); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	runtime.KeepAlive(first)
}

// takes is a store that can't settle.
type takes struct{ weir.Store }
