package weirecho_test

import (
	"net/http"
	"testing"

	"github.com/labstack/echo/v5"

	"github.com/goweir/weir"
	weirecho "github.com/goweir/weir/adapters/echov5"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

// TestKey checks that an identity which was handed on with Set counts, and the answers
// to requests without one.
func TestKey(t *testing.T) {
	t.Parallel()
	user := weirecho.Key(func(c *echo.Context) (string, bool) {
		user, _ := c.Get("user").(string)
		return user, user != "nobody"
	})
	for _, tt := range []struct {
		name   string
		set    any // nil: nothing
		key    weir.KeyFunc
		status int
		want   string // the key; empty: none
	}{
		{"a user", "ann", user, 200, "ann"},
		{"nothing", nil, user, 401, ""},
		{"an empty string", "", user, 401, ""},
		{"false", "nobody", user, 401, ""},
		{"the first of two", "ann", weir.KeyFirst(user, weir.KeyRemoteIP()), 200, "0|ann"},
		{"no function", "ann", weirecho.Key(nil), 500, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got string
			reached := false
			limit := mustNew(t, middleware.Config{
				Limiter: httpcases.NewLimiter(t, httpcases.Always{}, weir.PerHour(1)), Key: tt.key,
				Lists:   middleware.Lists{Allow: func(key string) bool { got = key; return false }},
				OnError: func(*http.Request, error) {},
			})
			e := echo.New()
			e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c *echo.Context) error {
					if tt.set != nil {
						c.Set("user", tt.set)
					}
					return next(c)
				}
			}, limit)
			e.GET("/", func(*echo.Context) error { reached = true; return nil })
			if w := get(e, "/"); w.Code != tt.status || got != tt.want || reached != (tt.status == 200) {
				t.Errorf("status %d, want %d; key %q, want %q; handler reached %t", w.Code, tt.status, got, tt.want, reached)
			}
		})
	}
}
