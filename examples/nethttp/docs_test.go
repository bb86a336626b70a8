package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// TestTranscriptInDocs checks that curl gets the answers in docs/inbound.md, apart from
// the order of headers.
func TestTranscriptInDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/inbound.md")
	if err != nil {
		t.Fatal(err)
	}
	_, transcript, _ := strings.Cut(string(page), "$ curl -i -H 'X-API-Key: free-key' http://127.0.0.1:8080/hello\n")
	transcript, _, _ = strings.Cut(transcript, "```\n")
	served, refused, found := strings.Cut(transcript, "$ curl -i -H 'X-API-Key: free-key' http://127.0.0.1:8080/hello\n")
	if !found {
		t.Fatal("docs/inbound.md has no transcript")
	}
	synctest.Test(t, func(t *testing.T) {
		api, err := newAPI()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ name, want string }{{"first", served}, {"second", ""}, {"third", refused}} {
			r := httptest.NewRequest(http.MethodGet, "/hello", http.NoBody)
			r.Header.Set("X-API-Key", "free-key")
			w := httptest.NewRecorder()
			api.ServeHTTP(w, r)
			if got := answer(t, w); c.want != "" && got != sorted(c.want) {
				t.Errorf("the %s answer is\n%s\nand not, as docs/inbound.md says,\n%s", c.name, got, sorted(c.want))
			}
		}
	})
}

// answer returns the output of curl -i, without Date and with sorted headers.
func answer(t *testing.T, w *httptest.ResponseRecorder) string {
	var b strings.Builder
	resp := w.Result()
	if resp.ContentLength < 0 { // the server adds it to a short answer
		resp.ContentLength = int64(w.Body.Len())
	}
	if err := resp.Write(&b); err != nil {
		t.Fatal(err)
	}
	return sorted(strings.ReplaceAll(b.String(), "\r\n", "\n"))
}

func sorted(answer string) string {
	head, body, _ := strings.Cut(answer, "\n\n")
	lines := strings.Split(head, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n\n" + body
}
