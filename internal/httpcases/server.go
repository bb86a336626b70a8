package httpcases

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
)

// serverTests are handlers for a real connection.
var serverTests = []struct {
	name string
	only int // 1 or 2: the version of HTTP that can do it; 0: both
	test func(*testing.T, serve)
}{
	{name: "flush", test: testFlush},
	{name: "hijack", only: 1, test: testHijack},
	{name: "upgrade", only: 1, test: testUpgrade},
	{name: "upgrade through a proxy", only: 1, test: testProxiedUpgrade},
	{name: "controller", test: testController},
	{name: "full duplex", test: testDuplex},
	{name: "write deadline", test: testWriteDeadline},
	{name: "trailers", test: testTrailers},
	{name: "files", test: testFiles},
	{name: "uploads are deleted", test: testUploads},
	{name: "refusals keep the connection", test: testKeepAlive},
}

// testServer checks over real connections that handlers keep the abilities of the
// server's writer, with and without Config.Settle.
func testServer(t *testing.T, mount Mount) {
	for _, test := range serverTests {
		for version := 1; version <= 2; version++ {
			for mode, settle := range map[string]settleFunc{"limited": nil, "settled": asCharged} {
				if test.only > 0 && test.only != version {
					continue
				}
				t.Run(fmt.Sprintf("%s, HTTP/%d, %s", test.name, version, mode), func(t *testing.T) {
					t.Parallel()
					test.test(t, func(h http.HandlerFunc) *httptest.Server {
						cfg := byUser(t, newStore(), weir.PerHour(1))
						cfg.Settle = settle
						return listen(t, version, mustMount(t, mount, cfg, h))
					})
				})
			}
		}
	}
	t.Run("hints are not settled", func(t *testing.T) { testHints(t, mount) })
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprintf("nothing is lost, HTTP/%d", version), func(t *testing.T) { testTransparent(t, mount, version) })
	}
}

func testFlush(t *testing.T, start serve) {
	seen := make(chan struct{})
	srv := start(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "one\n")
		w.(http.Flusher).Flush()
		select {
		case <-seen:
		case <-r.Context().Done():
		}
		// A flush may reach the client in the middle of a longer answer too.
		_, _ = io.Copy(w, strings.NewReader("two\n"))
	})
	resp := call(t, srv, nil, "")
	body := bufio.NewReader(resp.Body)
	if line, err := body.ReadString('\n'); line != "one\n" {
		t.Fatalf("read %q, %v before the handler ended", line, err)
	}
	close(seen)
	if rest, err := io.ReadAll(body); string(rest) != "two\n" || err != nil {
		t.Errorf("read %q, %v", rest, err)
	}
	if resp.Header.Get("RateLimit") != `"1-in-1h";r=0;t=3600` {
		t.Errorf("headers: %v", resp.Header)
	}
}

func testHijack(t *testing.T, start serve) {
	srv := start(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = rw.WriteString("HTTP/1.1 202 Mine\r\nContent-Length: 3\r\nConnection: close\r\n\r\nraw")
		_ = rw.Flush()
	})
	resp := call(t, srv, nil, "")
	if body, err := io.ReadAll(resp.Body); resp.Status != "202 Mine" || string(body) != "raw" || err != nil {
		t.Errorf("got %s, %q, %v", resp.Status, body, err)
	}
}

func testController(t *testing.T, start serve) {
	srv := start(func(w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		err := errors.Join(
			c.EnableFullDuplex(),
			c.SetReadDeadline(time.Now().Add(time.Hour)),
			c.SetWriteDeadline(time.Now().Add(time.Hour)),
			c.Flush(),
		)
		if err != nil {
			t.Error(err)
		}
	})
	if resp := call(t, srv, nil, ""); resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func testTrailers(t *testing.T, start serve) {
	srv := start(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "42")
		w.Header().Set(http.TrailerPrefix+"X-Late", "43")
	})
	resp := call(t, srv, nil, "")
	if body, err := io.ReadAll(resp.Body); string(body) != "body" || err != nil {
		t.Errorf("read %q, %v", body, err)
	}
	if resp.Trailer.Get("X-Sum") != "42" || resp.Trailer.Get("X-Late") != "43" {
		t.Errorf("trailers: %v", resp.Trailer)
	}
}

// testUploads checks that the server still finds the files of a form which the
// handler parsed on its copy of the request.
func testUploads(t *testing.T, start serve) {
	var path string
	srv := start(func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(0); err != nil {
			t.Error(err)
			return
		}
		f, err := r.MultipartForm.File["file"][0].Open()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = f.Close() }()
		if file, ok := f.(*os.File); ok {
			path = file.Name()
		}
	})
	var form strings.Builder
	mw := multipart.NewWriter(&form)
	part, err := mw.CreateFormFile("file", "big")
	must(t, err)
	// The parser allows itself 10 MiB of memory however little it is given.
	_, _ = part.Write(make([]byte, 11<<20))
	_ = mw.Close()
	_ = call(t, srv, strings.NewReader(form.String()), mw.FormDataContentType()).Body.Close()
	srv.Close() // waits until the server has tidied up after the request
	if path == "" {
		t.Fatal("the upload was not stored in a file")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the upload is still there: %v", err)
	}
}

// testPanickedUpload checks that outer handlers, which may recover, find the form
// and the pattern of a handler that panicked, so that the server deletes uploads.
func testPanickedUpload(t *testing.T, mount Mount) {
	t.Parallel()
	for mode, settle := range map[string]settleFunc{"limited": nil, "settled": asCharged} {
		cfg := byUser(t, newStore(), weir.PerHour(1))
		cfg.Settle = settle
		h := mustMount(t, mount, cfg, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			r.MultipartForm = new(multipart.Form)
			r.Pattern = cmp.Or(r.Pattern, "/things/")
			panic(http.ErrAbortHandler)
		}))
		r := ann.build(t)
		func() {
			defer func() { _ = recover() }()
			h.ServeHTTP(httptest.NewRecorder(), r)
		}()
		if r.MultipartForm == nil || r.Pattern == "" {
			t.Errorf("%s: form %v, pattern %q", mode, r.MultipartForm, r.Pattern)
		}
	}
}

func testKeepAlive(t *testing.T, start serve) {
	srv := start(handler)
	var statuses []int
	for range 3 {
		resp := call(t, srv, nil, "")
		_, err := io.Copy(io.Discard, resp.Body)
		if err != nil || resp.Close {
			t.Errorf("close %t, %v", resp.Close, err)
		}
		statuses = append(statuses, resp.StatusCode)
	}
	if statuses[0] != 200 || statuses[1] != 429 || statuses[2] != 429 {
		t.Errorf("statuses: %v", statuses)
	}
}
