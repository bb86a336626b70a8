package httpbody_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/goweir/weir/internal/httpbody"
	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// closer is a body whose Close returns an error.
type closer struct {
	io.Reader
	err error
}

func (c closer) Close() error { return c.err }

type writer struct {
	closer
	io.Writer
}

// TestOnEnd: each kind of end is seen once, and a body keeps its optional methods.
func TestOnEnd(t *testing.T) {
	t.Parallel()
	fault := errors.New("fault")
	var sent bytes.Buffer
	text := func() *strings.Reader { return strings.NewReader("text") }
	for name, tt := range map[string]struct {
		body          io.ReadCloser
		end           func(b io.ReadCloser) error
		want          error
		atOnce, whole bool
		writes        bool
	}{
		"closed":                 {body: closer{text(), nil}, end: io.ReadCloser.Close},
		"closed with an error":   {body: closer{text(), fault}, end: io.ReadCloser.Close, want: fault},
		"read to its end":        {body: closer{text(), nil}, end: readAll, whole: true},
		"fails":                  {body: closer{iotest.ErrReader(fault), nil}, end: readAll, want: fault},
		"no body":                {body: http.NoBody, atOnce: true, end: io.ReadCloser.Close, whole: true},
		"nil":                    {atOnce: true, whole: true},
		"can be written":         {body: writer{closer{text(), nil}, &sent}, end: readAll, writes: true, whole: true},
		"can be written, closed": {body: writer{closer{text(), nil}, &sent}, end: io.ReadCloser.Close, writes: true},
	} {
		t.Run(name, func(t *testing.T) {
			ended, whole := 0, false
			resp := &http.Response{Body: tt.body}
			httpbody.OnEnd(resp, false, func(end *httpbody.End) { ended, whole = ended+1, end.Whole })
			if (ended == 1) != tt.atOnce {
				t.Fatalf("it ended %d times at once", ended)
			}
			if w, ok := resp.Body.(io.Writer); ok != tt.writes {
				t.Errorf("it can be written: %v, want %v", ok, tt.writes)
			} else if ok {
				sent.Reset()
				if _, err := w.Write([]byte("more")); err != nil || sent.String() != "more" || ended != 0 {
					t.Errorf("wrote %q, %v; ended %d times", &sent, err, ended)
				}
			}
			if tt.end != nil {
				if err := tt.end(resp.Body); !errors.Is(err, tt.want) {
					t.Errorf("ended with %v, want %v", err, tt.want)
				}
				_ = resp.Body.Close()
			}
			if ended != 1 || whole != tt.whole {
				t.Errorf("it ended %d times, whole: %v; want once, %v", ended, whole, tt.whole)
			}
		})
	}
}

// TestNothingToRead: a response without a body ends at once. HTTP/2 gives it an empty body
// that is not http.NoBody, and few callers close that.
func TestNothingToRead(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Path[1:])
		if status == 304 {
			w.Header().Set("Content-Length", "5")
		}
		w.WriteHeader(status)
		if status == 201 {
			_, _ = io.WriteString(w, "text")
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	for _, c := range []struct {
		method, status string
		want           bool
	}{{"HEAD", "200", true}, {"HEAD", "429", true}, {"GET", "204", true}, {"GET", "304", true}, {"GET", "200", true}, {"GET", "201", false}} {
		req, err := http.NewRequest(c.method, server.URL+"/"+c.status, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		ended := false
		httpbody.OnEnd(resp, true, func(end *httpbody.End) { ended = end.Whole })
		if ended != c.want {
			t.Errorf("%s %s, %s: it ended at once: %v", c.method, c.status, resp.Proto, ended)
		}
		_ = resp.Body.Close()
	}
}

func readAll(b io.ReadCloser) error {
	text, err := io.ReadAll(b)
	if err == nil && string(text) != "text" {
		return errors.New("read " + string(text))
	}
	return err
}

// TestCounts: the end has the number of bytes, the first and the last ones, for every way
// of reading.
func TestCounts(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, httpbody.MaxTail - 1, httpbody.MaxTail, httpbody.MaxTail + 1, 3*httpbody.MaxTail + 7} {
		for _, step := range []int{1, 1000, httpbody.MaxTail, 1 << 20} {
			t.Run(fmt.Sprintf("%d by %d", size, step), func(t *testing.T) {
				text := bytes.Repeat([]byte("0123456789abcdefg"), size/17+1)[:size]
				var got *httpbody.End
				resp := &http.Response{Body: closer{bytes.NewReader(text), nil}}
				httpbody.OnEnd(resp, true, func(end *httpbody.End) { got = end })
				buf := make([]byte, step)
				for err := error(nil); err == nil; {
					_, err = resp.Body.Read(buf)
				}
				head, want := text[:min(size, httpbody.MaxHead)], text[max(0, size-httpbody.MaxTail):]
				if got == nil || got.Bytes != int64(size) || !bytes.Equal(got.Head, head) || !bytes.Equal(got.Tail, want) || !got.Whole {
					t.Errorf("got %+v, want %d bytes, whole", got, size)
				}
			})
		}
	}
}

// TestEndsOnceConcurrently: a body that is closed while it is read ends once, and
// nothing changes afterwards.
func TestEndsOnceConcurrently(t *testing.T) {
	t.Parallel()
	for range 200 {
		ended := make(chan httpbody.End, 2)
		resp := &http.Response{Body: closer{strings.NewReader(strings.Repeat("x", 100)), nil}}
		httpbody.OnEnd(resp, true, func(end *httpbody.End) { ended <- *end })
		body := resp.Body
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.Copy(io.Discard, body) })
		wg.Go(func() { _ = body.Close() })
		wg.Wait()
		if end := <-ended; len(ended) != 0 || end.Whole && end.Bytes != 100 || end.Bytes != int64(len(end.Tail)) {
			t.Fatalf("ended %d times more, %+v", len(ended), end)
		}
	}
}

// TestCloseWrite: CloseWrite calls that of the body of 101 Switching Protocols, if it has
// one.
func TestCloseWrite(t *testing.T) {
	t.Parallel()
	half := &halfCloser{}
	for name, body := range map[string]io.ReadCloser{"can": half, "can't": writer{closer{strings.NewReader(""), nil}, io.Discard}} {
		resp := &http.Response{Body: body}
		httpbody.OnEnd(resp, false, func(*httpbody.End) {})
		err := resp.Body.(interface{ CloseWrite() error }).CloseWrite()
		if name == "can" && (err != nil || !half.closed) || name != "can" && !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type halfCloser struct{ closed bool }

func (*halfCloser) Read([]byte) (int, error)    { return 0, io.EOF }
func (*halfCloser) Write(p []byte) (int, error) { return len(p), nil }
func (*halfCloser) Close() error                { return nil }
func (h *halfCloser) CloseWrite() error         { h.closed = true; return nil }

// BenchmarkOnEnd reads a body of 64 KiB in pieces of 1 KiB. Only a counted one is copied.
func BenchmarkOnEnd(b *testing.B) {
	text, piece := bytes.Repeat([]byte("x"), 64<<10), make([]byte, 1<<10)
	for _, counts := range []bool{false, true} {
		b.Run(fmt.Sprintf("counts %v", counts), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				resp := &http.Response{Body: closer{bytes.NewReader(text), nil}}
				httpbody.OnEnd(resp, counts, func(*httpbody.End) {})
				for err := error(nil); err == nil; {
					_, err = resp.Body.Read(piece)
				}
			}
		})
	}
}
