package httpcases

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// testDuplex answers each line of the body before the next one is sent.
func testDuplex(t *testing.T, start serve) {
	srv := start(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if err := c.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusOK)
		_ = c.Flush()
		for lines := bufio.NewReader(r.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(w, "echo "+line)
			_ = c.Flush()
		}
	})
	body, send := io.Pipe()
	resp := call(t, srv, body, "")
	from := bufio.NewReader(resp.Body)
	for _, line := range []string{"one\n", "two\n"} {
		_, _ = io.WriteString(send, line)
		if got, err := from.ReadString('\n'); got != "echo "+line || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
	}
	_ = send.Close()
	if rest, err := io.ReadAll(from); len(rest) > 0 || err != nil {
		t.Errorf("read %q, %v", rest, err)
	}
}

// testWriteDeadline checks that a deadline which a handler sets is heeded.
func testWriteDeadline(t *testing.T, start serve) {
	srv := start(func(w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		_, _ = io.WriteString(w, "one")
		if err := errors.Join(c.Flush(), c.SetWriteDeadline(time.Now().Add(-time.Hour))); err != nil {
			t.Error(err)
		}
		_, _ = w.Write(make([]byte, 1<<20))
		_ = c.Flush()
	})
	resp := call(t, srv, nil, "")
	if n, err := io.Copy(io.Discard, resp.Body); err == nil || n >= 1<<20 {
		t.Errorf("read %d bytes, %v, past the deadline", n, err)
	}
}

// testFiles serves a part of a file.
func testFiles(t *testing.T, start serve) {
	path := filepath.Join(t.TempDir(), "file")
	content := bytes.Repeat([]byte("0123456789"), 300_000)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	srv := start(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Range", "bytes=5-2999990")
		r.Method = http.MethodGet
		http.ServeFile(w, r, path)
	})
	resp := call(t, srv, nil, "")
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusPartialContent || !bytes.Equal(got, content[5:2999991]) {
		t.Errorf("status %d, %d bytes, %v", resp.StatusCode, len(got), err)
	}
}
