package middleware_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config func(*middleware.Config)
		field  string // empty: valid
	}{
		{"limiter and key", func(*middleware.Config) {}, ""},
		{"no limiter", func(c *middleware.Config) { c.Limiter = nil }, "Limiter"},
		{"no key", func(c *middleware.Config) { c.Key = nil }, "Key"},
		{"unknown policy", func(c *middleware.Config) { c.NoKey = 3 }, "NoKey"},
		{"anonymous without a key", func(c *middleware.Config) { c.NoKey = middleware.NoKeyAnonymous }, "AnonymousKey"},
		{"a key without anonymous", func(c *middleware.Config) { c.AnonymousKey = "a" }, "AnonymousKey"},
		{"a key for unlimited", func(c *middleware.Config) {
			c.NoKey, c.AnonymousKey = middleware.NoKeyUnlimited, "a"
		}, "AnonymousKey"},
		{"a key that is too long", anonymous(strings.Repeat("a", 65)), "AnonymousKey"},
		{"a key that can't be printed", anonymous("anonym\x00"), "AnonymousKey"},
		{"a key that is not ASCII", anonymous("anonymé"), "AnonymousKey"},
		{"anonymous", anonymous(strings.Repeat("a", 64)), ""},
		{"a challenge", func(c *middleware.Config) { c.Challenge = `Bearer realm="x"` }, ""},
		{"a challenge on two lines", func(c *middleware.Config) { c.Challenge = "Bearer\r\nX: y" }, "Challenge"},
		{"a challenge for nobody", func(c *middleware.Config) {
			c.NoKey, c.Challenge = middleware.NoKeyUnlimited, "Bearer"
		}, "Challenge"},
		{"unknown failure policy", func(c *middleware.Config) { c.OnStoreFailure = 2 }, "OnStoreFailure"},
		{"unknown style", func(c *middleware.Config) { c.Headers = 5 }, "Headers"},
		{"a partition secret that can be guessed", func(c *middleware.Config) { c.PartitionSecret = []byte("123456789abcdef") }, "PartitionSecret"},
		{"a partition secret for other headers", func(c *middleware.Config) {
			c.PartitionSecret, c.Headers = []byte("0123456789abcdef"), middleware.HeadersX
		}, "PartitionSecret"},
		{"a partition secret", func(c *middleware.Config) { c.PartitionSecret = []byte("0123456789abcdef") }, ""},
		{"the last of each", func(c *middleware.Config) {
			c.OnStoreFailure, c.Headers = middleware.FailClosed, middleware.HeadersNone
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := middleware.Config{
				Limiter: httpcases.NewLimiter(t, httpcases.Always{}, weir.PerSecond(1)),
				Key:     weir.KeyRemoteIP(),
			}
			tt.config(&cfg)
			m, err := middleware.New(cfg)
			if tt.field == "" {
				if m == nil || err != nil {
					t.Errorf("New: %v", err)
				}
				return
			}
			var ce *weir.ConfigError
			if m != nil || !errors.Is(err, weir.ErrConfig) || !errors.As(err, &ce) || ce.Field != "middleware.Config."+tt.field {
				t.Errorf("New: %v, want an error that names %s", err, tt.field)
			}
		})
	}
}

func anonymous(key string) func(*middleware.Config) {
	return func(c *middleware.Config) { c.NoKey, c.AnonymousKey = middleware.NoKeyAnonymous, key }
}
