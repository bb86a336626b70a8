package redistest

import (
	"context"
	"flag"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/redis/go-redis/v9"
)

// TestMain runs more tests at once than there are processors, as most of them wait. A
// flag of the command line overrides this.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8")
	leaktest.Main(m)
}

// impatient makes a client give up soon, with the first error.
func impatient(o *redis.Options) {
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.DialTimeout, o.ReadTimeout = faultTimeout, faultTimeout
}

func mustSet(t *testing.T, c redis.Cmdable, key, value string) {
	t.Helper()
	if err := c.Set(context.Background(), key, value, 0).Err(); err != nil {
		t.Fatalf("SET %s: %v", key, err)
	}
}

func wantGet(t *testing.T, c redis.Cmdable, key, want string) {
	t.Helper()
	got, err := c.Get(context.Background(), key).Result()
	if err != nil || got != want {
		t.Fatalf("GET %s = %q, %v; want %q", key, got, err, want)
	}
}
