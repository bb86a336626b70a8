package weirgin_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/goweir/weir"
	weirgin "github.com/goweir/weir/adapters/gin"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
)

// TestKey checks that an identity which was handed on with Set counts in every key
// function, and the answers to requests without one.
func TestKey(t *testing.T) {
	t.Parallel()
	user := weirgin.Key(func(c *gin.Context) (string, bool) {
		user := c.GetString("user")
		return user, user != "nobody"
	})
	store := httpcases.NewCounting()
	wide, err := weir.New(weir.Config{Name: "wide", Store: store, Limits: []weir.Limit{weir.PerDay(100).WithName("wide")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		set    any // nil: nothing
		key    weir.KeyFunc
		levels []middleware.Level
		status int
		want   string // the key; empty: none
	}{
		{name: "a user", set: "ann", key: user, status: 200, want: "ann"},
		{name: "nothing", key: user, status: 401},
		{name: "an empty string", set: "", key: user, status: 401},
		{name: "false", set: "nobody", key: user, status: 401},
		{name: "the first of two", set: "ann", key: weir.KeyFirst(user, weir.KeyRemoteIP()), status: 200, want: "0|ann"},
		{name: "a level", set: "ann", key: weir.KeyStatic("all"), levels: []middleware.Level{{Limiter: wide, Key: user}}, status: 200, want: "all"},
		{name: "no function", set: "ann", key: weirgin.Key(nil), status: 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got string
			var handed *http.Request
			limit := mustNew(t, middleware.Config{
				Limiter: httpcases.NewLimiter(t, store, weir.PerHour(100)), Key: tt.key, Levels: tt.levels,
				Lists:   middleware.Lists{Allow: func(key string) bool { got = key; return false }},
				OnError: func(*http.Request, error) {},
			})
			e := gin.New()
			e.ContextWithFallback = true
			e.Use(func(c *gin.Context) {
				if tt.set != nil {
					c.Set("user", tt.set)
				}
			}, limit)
			e.GET("/", func(c *gin.Context) {
				handed = c.Request
				if c.Value("unknown") != nil || c.Value(t) != nil { // which ask the request's context
					t.Error("a value that was not set")
				}
			})
			if w := get(e, "/"); w.Code != tt.status || got != tt.want || (handed != nil) != (tt.status == 200) {
				t.Errorf("status %d, want %d; key %q, want %q; handler reached %t", w.Code, tt.status, got, tt.want, handed != nil)
			}
		})
	}
}

// TestKeyElsewhere checks that the key function fails in other middleware than gin's.
func TestKeyElsewhere(t *testing.T) {
	t.Parallel()
	var told error
	limit, err := middleware.New(middleware.Config{
		Limiter: httpcases.NewLimiter(t, httpcases.Always{}, weir.PerHour(1)),
		Key:     weirgin.Key(func(*gin.Context) (string, bool) { return "ann", true }),
		OnError: func(_ *http.Request, err error) { told = err },
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	limit(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if w.Code != http.StatusInternalServerError || told == nil {
		t.Errorf("status %d, OnError got %v", w.Code, told)
	}
}
