package httpcases

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// listen starts a server that speaks a version of HTTP.
func listen(t *testing.T, version int, h http.Handler) *httptest.Server {
	srv := httptest.NewUnstartedServer(h)
	if version == 2 {
		srv.EnableHTTP2 = true
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv
}

// serve starts a server that admits one request.
type serve func(h http.HandlerFunc) *httptest.Server

func call(t *testing.T, srv *httptest.Server, body io.Reader, contentType string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/things", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-User", "ann")
	r.Header.Set("Content-Type", contentType)
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}
