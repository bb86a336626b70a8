package digest_test

import (
	"encoding/base64"
	"testing"

	"github.com/goweir/weir/internal/digest"
	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The wanted digests are those of `printf 'a\0b' | openssl dgst -sha256 -binary | base64`,
// and the same with -hmac.
func TestAppend(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, secret string
		n            int
		want         string
	}{
		{"without a secret", "", 32, "WbJxrhu8sdMdQZKYF/Sxb7Q5608xUgta0dXOmJIKcTg="},
		{"with a secret", "0123456789abcdef", 32, "xTIB6tjbhc6zaiCFh4JabK6QK5oy3MTGgK2XcB5rFv4="},
		{"the first bytes", "0123456789abcdef", 3, "xTIB"},
	} {
		secret := []byte(test.secret)
		h := digest.New(secret)
		clear(secret) // It belongs to the caller.
		for range 2 {
			if got := string(h.Append([]byte("pk="), base64.StdEncoding, test.n, "a", "b")); got != "pk="+test.want {
				t.Errorf("%s: %s, want %s", test.name, got, test.want)
			}
		}
	}
}
