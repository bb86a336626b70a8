package redisstore

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func request(t *testing.T, header, value string) *http.Request {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://example.test/", nil)
	r.Header.Set(header, value)
	return r
}
