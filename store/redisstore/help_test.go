package redisstore

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/goweir/weir/internal/rediskey"
)

func request(t *testing.T, header, value string) *http.Request {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://example.test/", nil)
	r.Header.Set(header, value)
	return r
}

// stateOf returns the name of a key's state.
func stateOf(s *Store, key string) string { return rediskey.State(s.prefix, "", key) }

// namesOf returns the names of a key's state and log.
func namesOf(s *Store, key string) (state, log string) {
	state = stateOf(s, key)
	return state, rediskey.Log(state)
}

// heldOf returns the name of a key's leases.
func heldOf(s *Store, key string) string { return rediskey.Held(stateOf(s, key)) }
