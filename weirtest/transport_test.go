package weirtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

// answers is a handler with a different kind of response for each path.
var answers = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/echo":
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %q %s %d %q %v %s", r.Method, r.RequestURI, r.URL, body, r.Proto, r.ContentLength, r.Header.Get("X-Key"), err, r.UserAgent())
	case "/json":
		w.Header().Set("Content-Type", "application/json")
		w.Header()["X-Twice"] = []string{"1", "2"}
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("X-Late", "is not sent")
		_, _ = io.WriteString(w, "{}")
	case "/html":
		_, _ = io.WriteString(w, "<html><body>sniffed</body></html>")
	case "/empty":
	case "/none":
		w.WriteHeader(http.StatusNoContent)
		if _, err := io.WriteString(w, "not allowed"); !errors.Is(err, http.ErrBodyNotAllowed) {
			panic(fmt.Sprintf("error %v", err))
		}
	case "/notmodified":
		w.Header().Set("ETag", `"a"`)
		w.WriteHeader(http.StatusNotModified)
	case "/early":
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusAccepted)
	case "/trailer":
		w.Header().Set("Trailer", "X-Cost, X-Never")
		w.Header().Set(http.TrailerPrefix+"X-Free", "2")
		_, _ = io.WriteString(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Set("X-Cost", "1")
	case "/redirect":
		http.Redirect(w, r, "/html", http.StatusFound)
	case "/abort":
		panic(http.ErrAbortHandler)
	}
})

// Transport gives the same answers as a socket.
func TestTransportAnswersAsAServer(t *testing.T) {
	t.Parallel()
	cfg := weirtest.ProviderConfig{
		Limits: []weir.Limit{weir.PerHour(10).By(store.FixedWindow)},
		Key:    func(r *http.Request) string { return r.URL.Path },
		Cost: func(r *http.Request, _ weir.Limit) int64 {
			switch r.URL.Path {
			case "/refused":
				return 4 // the third time
			case "/abort":
				return 0 // http.Transport tries again by itself
			}
			return 1
		},
		Hook:    dialects.Draft11,
		Handler: answers,
	}
	s, err := weirtest.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	inProcess := provider(t, cfg).Transport()
	began, reset := time.Now(), regexp.MustCompile(`;t=(\d+)`)

	for _, method := range []string{"", http.MethodHead, http.MethodPost, http.MethodDelete} {
		for _, target := range []string{"/echo?a=b&c", "/json", "/html", "/empty", "/none", "/notmodified", "/early", "/trailer", "/redirect", "/abort", "", "/a%2Fb", "/refused"} {
			name := method + " " + target
			ask := func(rt http.RoundTripper) (*http.Response, string, error) {
				var body io.Reader
				if method == http.MethodPost {
					body = strings.NewReader("what was sent")
				}
				req, err := http.NewRequest(http.MethodGet, "http://"+host+target, body)
				if err != nil {
					t.Fatal(err)
				}
				req.Method = method
				req.Header.Set("X-Key", "k")
				res, err := rt.RoundTrip(req)
				if err != nil {
					return nil, "", err
				}
				defer res.Body.Close()
				text, err := io.ReadAll(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				if res.Request != req {
					t.Errorf("%s: the response's request is another", name)
				}
				return res, string(text), nil
			}
			want, wantBody, wantErr := ask(s.Client().Transport)
			got, gotBody, gotErr := ask(inProcess)
			if (wantErr != nil) != (gotErr != nil) {
				t.Errorf("%s: error %v, want %v", name, gotErr, wantErr)
			}
			if wantErr != nil || gotErr != nil {
				if !errors.Is(gotErr, io.EOF) {
					t.Errorf("%s: error %v, want EOF", name, gotErr)
				}
				continue
			}
			same := func(what string, got, want any) {
				if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
					t.Errorf("%s: %s\n%s, want\n%s", name, what, g, w)
				}
			}
			got.Header.Del("Date")
			want.Header.Del("Date")
			same("status", got.Status, want.Status)
			same("body", gotBody, wantBody)
			// The two are asked at different instants.
			g, w := reset.FindStringSubmatch(fmt.Sprint(got.Header)), reset.FindStringSubmatch(fmt.Sprint(want.Header))
			if len(g) == 2 && len(w) == 2 {
				a, _ := strconv.Atoi(g[1])
				b, _ := strconv.Atoi(w[1])
				if apart := max(a-b, b-a); apart > 1+int(time.Since(began)/time.Second) {
					t.Errorf("%s: a reset after %d s, want %d", name, a, b)
				}
			}
			same("header", reset.ReplaceAllString(fmt.Sprint(got.Header), ";t"), reset.ReplaceAllString(fmt.Sprint(want.Header), ";t"))
			same("trailer", got.Trailer, want.Trailer)
			same("length", got.ContentLength, want.ContentLength)
			same("protocol", got.Proto, want.Proto)
		}
	}
}

// body is a request's body that notes its calls.
type body struct {
	io.Reader
	closed atomic.Int32
}

func (b *body) Close() error {
	b.closed.Add(1)
	return nil
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// In every case the body is closed once, and the request is not changed.
func TestTransportKeepsTheContract(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errBroken)
	cases := []struct {
		name    string
		change  func(*http.Request)
		want    string // of the error
		arrived int64
	}{
		{"admitted", func(*http.Request) {}, "", 1},
		{"a length not known", func(r *http.Request) { r.ContentLength = -1 }, "", 1},
		{"a shorter body than was said", func(r *http.Request) { r.ContentLength = 5 }, "ContentLength=5 with Body length 4", 0},
		{"a longer body than was said", func(r *http.Request) { r.ContentLength = 3 }, "ContentLength=3 with Body length 4", 0},
		{"a body that breaks", func(r *http.Request) { r.Body.(*body).Reader = broken{} }, "broken", 0},
		{"a context that is over", func(r *http.Request) { *r = *r.WithContext(ended) }, "broken", 0},
		{"no URL", func(r *http.Request) { r.URL = nil }, "no URL", 0},
		{"no host", func(r *http.Request) { r.URL.Host = "" }, "no host", 0},
		{"no HTTP", func(r *http.Request) { r.URL.Scheme = "ftp" }, `scheme "ftp"`, 0},
		{"a handler that panics", func(r *http.Request) { r.Header.Set("X-Key", "panic") }, "on purpose", 1},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, weirtest.ProviderConfig{
				KeepBodies: 10,
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("X-Key") == "panic" {
						panic("on purpose")
					}
					r.Header.Set("X-Handler", "was here")
					r.URL.Path = "/elsewhere"
				}),
			})
			b := &body{Reader: strings.NewReader("abcd")}
			req, err := http.NewRequest(http.MethodPost, "http://api.test/v1", b)
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = 4
			tc.change(req)
			before := fmt.Sprintf("%+v", *req)
			res, err := p.Transport().RoundTrip(req)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if (res == nil) != (err != nil) {
				t.Errorf("response %v with error %v", res, err)
			}
			if res != nil {
				res.Body.Close()
			}
			if n := b.closed.Load(); n != 1 {
				t.Errorf("the body was closed %d times", n)
			}
			if after := fmt.Sprintf("%+v", *req); after != before {
				t.Errorf("the request was changed:\n%s, before\n%s", after, before)
			}
			if got := p.Counts().Arrived(); got != tc.arrived {
				t.Errorf("%d arrived, want %d", got, tc.arrived)
			}
		})
	}
}

// A body that never comes ends with the request's context.
func TestTransportBodyThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		defer write.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://api.test", read)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := provider(t, weirtest.ProviderConfig{}).Transport().RoundTrip(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline", err)
		}
	})
}

func TestResponseBodies(t *testing.T) {
	t.Parallel()
	p := provider(t, weirtest.ProviderConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var open []*http.Response
	for i := range 3 {
		res, err := p.Transport().RoundTrip(request(t, "").WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, res)
		if got := p.Counts().OpenBodies; got != i+1 {
			t.Errorf("%d bodies are open, want %d", got, i+1)
		}
	}
	for _, res := range open[:2] {
		res.Body.Close()
		res.Body.Close()
	}
	if got := p.Counts().OpenBodies; got != 1 {
		t.Errorf("%d bodies are open, want 1", got)
	}
	if _, err := io.ReadAll(open[0].Body); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("error %v of a closed body", err)
	}
	cancel()
	if _, err := io.ReadAll(open[2].Body); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a request that is over, want context.Canceled", err)
	}
	open[2].Body.Close()
}

// An http.Client works over it: redirects, cookies of its own, timeouts.
func TestHTTPClientOverTransport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := provider(t, weirtest.ProviderConfig{
			Handler: answers, KeepBodies: 1 << 20,
			Latency: func(r *http.Request) time.Duration {
				if r.URL.Path == "/slow" {
					return time.Hour
				}
				return 0
			},
		})
		c := &http.Client{Transport: p.Transport(), Timeout: time.Minute}
		res, err := c.Get("https://api.test/redirect")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !strings.Contains(string(text), "sniffed") || p.Counts().Arrived() != 2 {
			t.Errorf("%q, %v after %d requests", text, err, p.Counts().Arrived())
		}
		large := bytes.Repeat([]byte("0123456789"), 100_000)
		if res, err = c.Post("https://api.test/echo", "text/plain", bytes.NewReader(large)); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if all := p.Arrivals(); !slices.Equal(all[2].Body, large) {
			t.Error("the body that arrived is another")
		}
		if _, err = c.Get("https://api.test/slow"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the client's timeout", err)
		}
	})
}

// A Provider is a handler for any server.
func TestProviderInAHandlerOfItsUser(t *testing.T) {
	t.Parallel()
	p := provider(t, weirtest.ProviderConfig{Limits: []weir.Limit{weir.PerHour(1)}})
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code != want {
			t.Errorf("%d, want %d", w.Code, want)
		}
	}
}
