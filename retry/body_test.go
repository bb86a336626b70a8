package retry_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/retry"
)

// TestLastResponse: the caller gets the last response unread and unchanged, for every end
// of the attempts.
func TestLastResponse(t *testing.T) {
	t.Parallel()
	whole := text(300 << 10)
	veto := func(*http.Request, *http.Response, error) bool { return true }
	for _, size := range []int{0, 1, 4<<10 - 1, 4 << 10, 4<<10 + 1, 300 << 10} {
		for _, c := range []struct {
			name     string
			cfg      retry.Config
			after    string // Retry-After
			getBody  func() (io.ReadCloser, error)
			spend    int // requests that use up the budget first
			attempts int
		}{
			{name: "Max", attempts: 3},
			{name: "MaxWait", after: "6", cfg: retry.Config{MaxWait: 5 * time.Second}, attempts: 1},
			{name: "Budget", cfg: retry.Config{Max: 11, Budget: 1}, spend: 1, attempts: 1},
			{name: "Veto", cfg: retry.Config{Veto: veto}, attempts: 1},
			{name: "GetBody fails", attempts: 1, getBody: func() (io.ReadCloser, error) { return nil, errors.New("boom") }},
			{name: "GetBody returns nothing", attempts: 1, getBody: func() (io.ReadCloser, error) { return nil, nil }},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					sender := &base{steps: []step{{status: 429, after: c.after, body: whole[:size], header: http.Header{"X-Id": {"1"}}}}}
					tr := over(t, sender, c.cfg)
					for range c.spend {
						req, _ := request(t, "GET", "")
						resp, err := tr.RoundTrip(req)
						if err != nil {
							t.Fatal(err)
						}
						_ = resp.Body.Close()
					}
					sender.sent = nil
					sender.read.Store(0)
					req, made := request(t, "POST", "hello")
					if c.getBody != nil {
						req.GetBody = c.getBody
					}
					resp, err := tr.RoundTrip(req)
					if err != nil || sender.attempts() != c.attempts {
						t.Fatalf("%v after %d attempts, want %d", err, sender.attempts(), c.attempts)
					}
					made.check(t, c.attempts)
					if resp.StatusCode != 429 || resp.ContentLength != -1 || resp.Header.Get("X-Id") != "1" {
						t.Errorf("response %+v", resp)
					}
					if n := sender.read.Load(); c.attempts == 1 && n != 0 || sender.open.Load() != 1 {
						t.Errorf("%d bytes were read, %d response bodies are open", n, sender.open.Load())
					}
					body, err := io.ReadAll(resp.Body)
					if err != nil || string(body) != whole[:size] {
						t.Errorf("%d bytes, %v; want %d as they were", len(body), err, size)
					}
					_ = resp.Body.Close()
					sender.check(t)
				})
			})
		}
	}
}

// TestGetBodyFailsAfterError: the error stays the outcome.
func TestGetBodyFailsAfterError(t *testing.T) {
	t.Parallel()
	sender := &base{steps: []step{{err: io.ErrUnexpectedEOF}}}
	req, made := request(t, "PUT", "hello")
	req.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("boom") }
	if resp, err := over(t, sender, retry.Config{}).RoundTrip(req); resp != nil || err != io.ErrUnexpectedEOF {
		t.Errorf("%v, %v", resp, err)
	}
	made.check(t, 1)
}

// TestDiscard: a replaced response is read up to 4 KiB, for at most a second of the pause,
// and then closed.
func TestDiscard(t *testing.T) {
	t.Parallel()
	const never = time.Duration(1<<63 - 1)
	for _, c := range []struct {
		name   string
		size   int
		known  bool          // by ContentLength
		slow   time.Duration // of each read
		err    error         // at the end of the body
		pause  time.Duration
		read   int64
		closed time.Duration // after the response
	}{
		{name: "empty", pause: 10 * time.Second},
		{name: "short", size: 100, pause: 10 * time.Second, read: 100},
		{name: "short, known", size: 100, known: true, pause: 10 * time.Second, read: 100},
		{name: "just as long", size: 4 << 10, known: true, pause: 10 * time.Second, read: 4 << 10},
		{name: "long", size: 1 << 20, pause: 10 * time.Second, read: 4 << 10},
		{name: "long, known", size: 1 << 20, known: true, pause: 10 * time.Second},
		{name: "slow", size: 100, slow: 400 * time.Millisecond, pause: 10 * time.Second, read: 100, closed: 800 * time.Millisecond},
		{name: "slower than a second", size: 100, slow: 600 * time.Millisecond, pause: 10 * time.Second, read: 100, closed: time.Second},
		{name: "slower than the pause", size: 100, slow: 600 * time.Millisecond, pause: 700 * time.Millisecond, read: 100, closed: 700 * time.Millisecond},
		{name: "without an end", size: -1, slow: never, pause: 10 * time.Second, closed: time.Second},
		{name: "fails", size: 100, err: io.ErrUnexpectedEOF, pause: 10 * time.Second, read: 100},
		{name: "fails at once", err: io.ErrUnexpectedEOF, pause: 10 * time.Second},
		{name: "is nil", size: -2, pause: 10 * time.Second, closed: never},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				replaced := &slowBody{rest: text(max(c.size, 0)), slow: c.slow, err: c.err, ended: make(chan struct{})}
				start, attempts := time.Now(), 0
				tr := over(t, baseFunc(func(*http.Request) (*http.Response, error) {
					if attempts++; attempts > 1 {
						return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
					}
					resp := &http.Response{StatusCode: 429, Header: http.Header{}, ContentLength: -1, Body: replaced}
					if c.size == -2 {
						resp.Body = nil
					}
					if c.known {
						resp.ContentLength = int64(c.size)
					}
					resp.Header.Set("Retry-After-Ms", "10000")
					if c.pause < time.Second {
						resp.Header.Set("Retry-After-Ms", "700")
					}
					return resp, nil
				}), retry.Config{})
				req, _ := request(t, "GET", "")
				resp, err := tr.RoundTrip(req)
				if err != nil || resp.StatusCode != 200 || time.Since(start) != c.pause {
					t.Fatalf("%v, %v after %v, want a pause of %v", resp, err, time.Since(start), c.pause)
				}
				if n := replaced.read.Load(); n != c.read {
					t.Errorf("%d bytes were read, want %d", n, c.read)
				}
				if c.closed != never && (replaced.closes != 1 || replaced.closed.Sub(start) != c.closed) {
					t.Errorf("closed %d times, after %v, want %v", replaced.closes, replaced.closed.Sub(start), c.closed)
				}
			})
		})
	}
}

// slowBody takes a time for each read, until it is closed.
type slowBody struct {
	rest   string
	slow   time.Duration
	err    error
	read   atomic.Int64
	closes int
	closed time.Time
	ended  chan struct{}
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.slow > 0 {
		select {
		case <-time.After(b.slow):
		case <-b.ended:
			return 0, http.ErrBodyReadAfterClose
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	b.read.Add(int64(n))
	if n > 0 {
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return 0, io.EOF
}

func (b *slowBody) Close() error {
	b.closes++
	b.closed = time.Now()
	close(b.ended)
	return errors.New("close")
}

// TestBaseOutOfContract, in the first attempt and in a further one.
func TestBaseOutOfContract(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, c := range []struct {
		name  string
		first bool
		err   error
		says  string
	}{
		{"a response and an error", false, boom, "boom"},
		{"a response and an error at first", true, boom, "boom"},
		{"neither", false, nil, "retry: the base retry_test.baseFunc returned neither a response nor an error"},
		{"neither at first", true, nil, "returned neither"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sender := &base{steps: []step{{status: 429, body: "slow down"}}}
				calls := 0
				tr := over(t, baseFunc(func(r *http.Request) (*http.Response, error) {
					if calls++; calls == 1 && !c.first {
						return sender.RoundTrip(r)
					}
					if c.err == nil {
						return nil, nil
					}
					resp, _ := sender.RoundTrip(r)
					return resp, c.err
				}), retry.Config{})
				method, want := "GET", 2
				if c.first {
					want = 1
				}
				if c.err != nil {
					method = "POST" // an error is not tried again
				}
				req, _ := request(t, method, "")
				resp, err := tr.RoundTrip(req)
				if resp != nil || err == nil || !strings.Contains(err.Error(), c.says) || calls != want {
					t.Errorf("%v, %v after %d attempts, want %d", resp, err, calls, want)
				}
				sender.check(t)
			})
		})
	}
}

// TestPanics: a panic in any function leaves no body open.
func TestPanics(t *testing.T) {
	t.Parallel()
	for where, made := range map[string]int{"base": 2, "GetBody": 1, "Veto": 1, "Observe": 2} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sender := &base{steps: []step{{status: 429, body: "slow down"}, {status: 200, panics: where == "base"}}}
				at := func(place string) {
					if place == where {
						panic(place)
					}
				}
				tr := over(t, sender, retry.Config{
					Veto:    func(*http.Request, *http.Response, error) bool { at("Veto"); return false },
					Observe: func(*http.Request, retry.Attempt) { at("Observe") },
				})
				req, bodies := request(t, "POST", "hello")
				again := req.GetBody
				req.GetBody = func() (io.ReadCloser, error) { at("GetBody"); return again() }
				defer func() {
					if got := recover(); got != where {
						t.Errorf("recovered %v", got)
					}
					bodies.check(t, made)
					sender.check(t)
				}()
				_, _ = tr.RoundTrip(req)
			})
		})
	}
}

// TestPanicOfADiscardedBody: a body that panics at its end, as by the Settle of a
// weir.Transport, does not end the program on the goroutine that discards it.
func TestPanicOfADiscardedBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sender := &base{steps: []step{{status: 429, after: "1"}, {status: 200}}}
		tr := over(t, baseFunc(func(r *http.Request) (*http.Response, error) {
			resp, err := sender.RoundTrip(r)
			if resp.StatusCode == 429 {
				resp.Body = struct {
					io.Reader
					io.Closer
				}{readerFunc(func([]byte) (int, error) { panic("settle") }), resp.Body}
			}
			return resp, err
		}), retry.Config{})
		req, _ := request(t, "GET", "")
		resp, err := tr.RoundTrip(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v, %v; want 200", resp, err)
		}
		_ = resp.Body.Close()
		sender.check(t)
	})
}

// switched is the body of 101 Switching Protocols.
type switched struct{ bytes.Buffer }

func (*switched) Close() error { return nil }

// TestSwitchingProtocols: the body can be written to.
func TestSwitchingProtocols(t *testing.T) {
	t.Parallel()
	tr := over(t, baseFunc(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusSwitchingProtocols, Body: &switched{}}, nil
	}), retry.Config{})
	req, _ := request(t, "GET", "")
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		t.Fatalf("the body is a %T", resp.Body)
	}
	_, _ = io.WriteString(conn, "ping")
	if got, err := io.ReadAll(iotest.OneByteReader(conn)); string(got) != "ping" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}
