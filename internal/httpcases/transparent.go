package httpcases

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// testTransparent compares a handler behind a limit with the same handler whose requests
// the middleware skips. The handler finds the same abilities, and the client gets the
// same answer. A framework may lack abilities of net/http: gin drops hints, and echo
// takes them for the answer.
func testTransparent(t *testing.T, mount Mount, version int) {
	t.Parallel()
	var want string
	for i, mode := range []struct {
		name   string
		skip   func(*http.Request) bool
		settle settleFunc
	}{{"skipped", func(*http.Request) bool { return true }, nil}, {"limited", nil, nil}, {"settled", nil, asCharged}} {
		cfg := byUser(t, newStore(), weir.PerHour(1))
		cfg.Skip, cfg.Settle = mode.skip, mode.settle
		var found string
		srv := listen(t, version, mustMount(t, mount, cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			everything(w, r)
			found = abilities(w)
		})))
		got := transcript(t, srv)
		srv.Close() // The handler has ended then.
		got += found
		if i == 0 {
			want = got
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", mode.name, got, want)
		}
	}
	if !strings.Contains(want, "trailer: map[X-Sum:[42]]") || !strings.Contains(want, "upload sum [7]") {
		t.Errorf("not all was tried:\n%s", want)
	}
}

// testHints checks that the client's answer is settled, and not the hints before it,
// in every framework.
func testHints(t *testing.T, mount Mount) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"alone": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusEarlyHints) },
		"and a status": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusNotFound)
		},
		"and a body": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			_, _ = io.WriteString(w, "body")
		},
	} {
		var outcome middleware.Outcome
		cfg := byUser(t, newStore(), weir.PerHour(1))
		cfg.Settle = func(_ *http.Request, o middleware.Outcome) int64 { outcome = o; return o.Cost }
		srv := listen(t, 1, mustMount(t, mount, cfg, h))
		resp := call(t, srv, nil, "")
		srv.Close() // The handler has ended then.
		if outcome.Status != resp.StatusCode {
			t.Errorf("%s: answered %d, outcome %+v", name, resp.StatusCode, outcome)
		}
	}
}

// abilities lists the abilities of a ResponseWriter.
func abilities(w http.ResponseWriter) string {
	_, flush := w.(http.Flusher)
	_, hijack := w.(http.Hijacker)
	_, push := w.(http.Pusher)
	_, notify := w.(interface{ CloseNotify() <-chan bool })
	c := http.NewResponseController(w)
	never := time.Time{}
	return fmt.Sprintln("flush", flush, c.Flush(), "hijack", hijack, "push", push, "close", notify,
		"deadlines", c.SetReadDeadline(never), c.SetWriteDeadline(never), "duplex", c.EnableFullDuplex())
}

// everything is a handler that reads and writes in all ways that a client can see.
func everything(w http.ResponseWriter, r *http.Request) {
	sent, err := io.ReadAll(r.Body)
	h := w.Header()
	h.Set("Link", "</style.css>; rel=preload")
	w.WriteHeader(http.StatusEarlyHints)
	h.Set("Link", "</more.css>; rel=preload")
	w.WriteHeader(http.StatusEarlyHints)
	h.Set("Trailer", "X-Sum")
	h.Set("Content-Type", "text/x")
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, "read %d, %v, upload sum %v\n", len(sent), err, r.Trailer["X-Upload-Sum"])
	_ = http.NewResponseController(w).Flush()
	_, _ = io.WriteString(w, "string\n")
	_, _ = io.Copy(w, strings.NewReader("reader\n"))
	_, _ = io.Copy(w, io.LimitReader(neverending('x'), 100_000))
	_, _ = io.WriteString(w, "\n")
	if p, ok := w.(http.Pusher); ok {
		_, _ = fmt.Fprintln(w, "push", p.Push("/style.css", nil), p.Push("style.css", nil))
	}
	h.Set("X-Sum", "42")
}

type neverending byte

func (b neverending) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

// transcript is a client's view of an exchange with everything, without the time of day
// and the rate headers.
func transcript(t *testing.T, srv *httptest.Server) string {
	t.Helper()
	var b strings.Builder
	header := func(h map[string][]string) {
		for _, name := range slices.Sorted(maps.Keys(h)) {
			if name != "Date" && !strings.Contains(name, "Ratelimit") {
				fmt.Fprintln(&b, name, h[name])
			}
		}
	}
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			fmt.Fprintln(&b, code)
			header(h)
			return nil
		},
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/things", io.MultiReader(strings.NewReader("up"), strings.NewReader("load")))
	must(t, err)
	r.Header.Set("X-User", "ann")
	r.Trailer = http.Header{"X-Upload-Sum": {"7"}}
	resp, err := srv.Client().Do(r)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	fmt.Fprintln(&b, resp.Proto, resp.Status, resp.ContentLength, resp.TransferEncoding, resp.Uncompressed)
	header(resp.Header)
	body, err := io.ReadAll(resp.Body)
	body = bytes.ReplaceAll(body, bytes.Repeat([]byte("x"), 100_000), []byte("100000 x"))
	fmt.Fprintf(&b, "%s\n%v, trailer: %v\n", body, err, resp.Trailer)
	return b.String()
}
