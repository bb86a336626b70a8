package redisstore

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/redis/go-redis/v9"
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

// ends returns when a key ends by the server's clock, to the millisecond. Redis 6 has no
// PEXPIRETIME.
func ends(t testing.TB, c redis.UniversalClient, key string) time.Duration {
	t.Helper()
	const script = `local t, left = redis.call('TIME'), redis.call('PTTL', KEYS[1])
return left < 0 and left or t[1] * 1000 + math.floor(t[2] / 1000) + left`
	ms, err := c.Eval(context.Background(), script, []string{key}).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(ms) * time.Millisecond
}

// heldOf returns the name of a key's leases.
func heldOf(s *Store, key string) string { return rediskey.Held(stateOf(s, key)) }

// slot returns the slot of a key in a cluster: the CRC-16 (XMODEM) of its hash tag, modulo
// 16384.
func slot(key string) uint16 {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if end := strings.IndexByte(key[open+1:], '}'); end > 0 {
			key = key[open+1 : open+1+end]
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return crc % 16384
}
