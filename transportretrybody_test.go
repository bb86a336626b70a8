package weir_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/goweir/weir"
)

// retryText returns n bytes, no two parts alike.
func retryText(n int) string {
	var b strings.Builder
	for i := uint32(1); b.Len() < n; i++ {
		b.WriteByte(byte(i * 2654435761 >> 24))
	}
	return b.String()
}

// TestRetryLastResponse is as the base returned it, whatever was tried.
func TestRetryLastResponse(t *testing.T) {
	t.Parallel()
	text := retryText(300 << 10)
	boom := errors.New("boom")
	for _, size := range []int{0, 1, 511, 512, 513, 64<<10 - 1, 64 << 10, 64<<10 + 1, 300 << 10} {
		for _, c := range []struct {
			name      string
			cfg       weir.TransportConfig
			fail      bool // the limiter refuses the second attempt
			getBody   func() (io.ReadCloser, error)
			attempts  int
			untouched bool // nothing of the response is read
		}{
			{name: "attempts used up", cfg: weir.TransportConfig{Retry: weir.Retry{Times: 2}}, attempts: 3},
			{name: "limiter refuses", cfg: weir.TransportConfig{Retry: weir.Retry{Times: 2}, Refuse: true}, fail: true, attempts: 1},
			{name: "GetBody fails", cfg: weir.TransportConfig{Retry: weir.Retry{Times: 2}}, attempts: 1, untouched: true,
				getBody: func() (io.ReadCloser, error) { return nil, boom }},
			{name: "GetBody returns nothing", cfg: weir.TransportConfig{Retry: weir.Retry{Times: 2}}, attempts: 1, untouched: true,
				getBody: func() (io.ReadCloser, error) { return nil, nil }},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					base := &retryBase{steps: []retryStep{{status: 429, after: "5", body: text[:size], header: http.Header{"X-Id": {"1"}}}}}
					store := &transportStore{}
					if c.fail {
						base.hold = func(int, *http.Request) { store.delay = 1 << 40 }
					}
					c.cfg.Base = base
					tr := transportOver(t, store, c.cfg)
					req, bodies := retryRequest(t, "POST", "hello")
					if c.getBody != nil {
						req.GetBody = c.getBody
					}
					resp, err := tr.RoundTrip(req)
					if err != nil || base.attempts() != c.attempts {
						t.Fatalf("%v after %d attempts", err, base.attempts())
					}
					if c.untouched && base.read.Load() != 0 {
						t.Errorf("%d bytes of the response were read", base.read.Load())
					}
					if resp.StatusCode != 429 || resp.ContentLength != -1 || resp.Header.Get("X-Id") != "1" {
						t.Errorf("response %+v", resp)
					}
					if base.open.Load() != 1 {
						t.Errorf("%d response bodies are open", base.open.Load())
					}
					body, err := io.ReadAll(iotest.HalfReader(resp.Body))
					if err != nil || string(body) != text[:size] {
						t.Errorf("%d bytes, %v; want %d as they were", len(body), err, size)
					}
					if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
						t.Errorf("after the end: %d, %v", n, err)
					}
					_ = resp.Body.Close()
					if _, err := resp.Body.Read(make([]byte, 1)); err == nil || err == io.EOF {
						t.Errorf("after Close: %v", err)
					}
					base.check(t)
					for i, b := range bodies.all {
						if b.closed.Load() != 1 {
							t.Errorf("request body %d was closed %d times", i, b.closed.Load())
						}
					}
				})
			})
		}
	}
}

// TestRetryReadsBounded of the responses that it discards.
func TestRetryReadsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := &retryBase{steps: []retryStep{{status: 429, after: "1", body: retryText(1 << 20)}, {status: 200}}}
		tr, _ := retrying(t, base, weir.TransportConfig{Retry: weir.Retry{Times: 1}})
		req, _ := retryRequest(t, "GET", "")
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if n := base.read.Load(); n != 64<<10 {
			t.Errorf("%d bytes were read", n)
		}
		base.check(t)
	})
}

// oddBody is the body of a base that keeps to nothing but the types.
type oddBody struct {
	reads  []io.Reader
	closed int
}

func (b *oddBody) Read(p []byte) (int, error) {
	if len(b.reads) == 0 {
		return 0, nil // for ever
	}
	n, err := b.reads[0].Read(p)
	if err == io.EOF {
		b.reads, err = b.reads[1:], nil
	}
	return n, err
}

func (b *oddBody) Close() error {
	b.closed++
	return errors.New("close")
}

// TestRetryOddBodies: bodies that fail, that return nothing, that are nil.
func TestRetryOddBodies(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		body *oddBody
		want string
		err  error
	}{
		{name: "fails in the middle", body: &oddBody{reads: []io.Reader{strings.NewReader("half"), iotest.ErrReader(boom)}}, want: "half", err: boom},
		{name: "fails at once", body: &oddBody{reads: []io.Reader{iotest.ErrReader(boom)}}, err: boom},
		{name: "ends never", body: &oddBody{reads: []io.Reader{strings.NewReader("half")}}, want: "half"},
		{name: "is nil"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &transportStore{}
				tr := transportOver(t, store, weir.TransportConfig{
					Retry:   weir.Retry{Times: 1},
					MaxWait: 1 << 40,
					Base: transportFunc(func(*http.Request) (*http.Response, error) {
						store.delay = 1 << 50 // for the second attempt
						resp := &http.Response{StatusCode: 429, Header: http.Header{}}
						if c.body != nil {
							resp.Body = c.body
						}
						return resp, nil
					}),
				})
				req, _ := retryRequest(t, "GET", "")
				resp, err := tr.RoundTrip(req)
				if err != nil || len(store.granted) != 1 {
					t.Fatalf("%v, %d charged", err, len(store.granted))
				}
				if c.body == nil {
					if resp.Body != nil {
						t.Error("a body where there was none")
					}
					return
				}
				got := make([]byte, 100)
				n, err := resp.Body.Read(got)
				if n > 0 {
					_, err = resp.Body.Read(got[n:])
				}
				if string(got[:n]) != c.want || err != c.err {
					t.Errorf("read %q, %v", got[:n], err)
				}
				if err := resp.Body.Close(); err == nil || c.body.closed != 1 {
					t.Errorf("closed %d times: %v", c.body.closed, err)
				}
			})
		})
	}
}

// TestRetryBaseOutOfContract, on a further attempt.
func TestRetryBaseOutOfContract(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		resp *http.Response
		err  error
		is   string
	}{
		{"both", &http.Response{StatusCode: 429, Body: io.NopCloser(bytes.NewReader(nil))}, boom, "boom"},
		{"neither", nil, nil, "returned neither"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				first := &retryBase{steps: []retryStep{{status: 429, body: "slow down"}}}
				calls := 0
				tr, _ := retrying(t, transportFunc(func(r *http.Request) (*http.Response, error) {
					if calls++; calls == 1 {
						return first.RoundTrip(r)
					}
					return c.resp, c.err
				}), weir.TransportConfig{Retry: weir.Retry{Times: 5}})
				req, _ := retryRequest(t, "GET", "")
				resp, err := tr.RoundTrip(req)
				if resp != nil || err == nil || !strings.Contains(err.Error(), c.is) || calls != 2 {
					t.Errorf("%v, %v after %d attempts", resp, err, calls)
				}
				first.check(t)
			})
		})
	}
}

// TestRetryPanics leave nothing open, wherever they come from.
func TestRetryPanics(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"base", "key", "cost", "body"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				step := retryStep{status: 429, after: "1", body: "slow down"}
				base := &retryBase{steps: []retryStep{step, {panics: true}}}
				calls := map[string]int{}
				second := func(place string) {
					if calls[place]++; place == where && calls[place] == 2 {
						panic(place)
					}
				}
				tr, _ := retrying(t, base, weir.TransportConfig{
					Retry: weir.Retry{Times: 5},
					Key:   func(*http.Request) (string, error) { second("key"); return "k", nil },
					Cost:  func(*http.Request) (int64, error) { second("cost"); return 1, nil },
				})
				req, bodies := retryRequest(t, "POST", "hello")
				if where == "body" {
					req.GetBody = func() (io.ReadCloser, error) { panic("body") }
				}
				defer func() {
					if got := recover(); got != where {
						t.Errorf("recovered %v", got)
					}
					made := 2
					if where == "body" {
						made = 1
					}
					bodies.check(t, made)
					base.check(t)
				}()
				_, _ = tr.RoundTrip(req)
			})
		})
	}
}
