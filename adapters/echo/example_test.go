package weirecho_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/goweir/weir"
	weirecho "github.com/goweir/weir/adapters/echo"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// token is a JWT, as *jwt.Token of golang-jwt.
type token struct{ claims map[string]any }

// authenticate stands for a JWT middleware: echo-jwt sets user to the token that it has
// verified.
func authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		text, ok := strings.CutPrefix(c.Request().Header.Get("Authorization"), "Bearer ")
		if !ok {
			return echo.ErrUnauthorized
		}
		c.Set("user", &token{map[string]any{"sub": strings.TrimPrefix(text, "signed-for-")}})
		return next(c)
	}
}

// subject returns the token's subject, which with golang-jwt is
// token.Claims.GetSubject().
func subject(c echo.Context) (string, bool) {
	verified, ok := c.Get("user").(*token)
	if !ok {
		return "", false
	}
	sub, ok := verified.claims["sub"].(string)
	return sub, ok
}

// Users are counted by the subject of their JWT.
func ExampleKey() {
	store, err := localstore.New(localstore.Config{}) // with replicas: redisstore
	check(err)
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerMinute(1)}})
	check(err)
	limit, err := weirecho.New(middleware.Config{Limiter: limiter, Key: weirecho.Key(subject)})
	check(err)
	e := echo.New()
	e.Use(authenticate, limit)
	e.GET("/hello", func(c echo.Context) error { return c.String(http.StatusOK, "hello") })

	for _, text := range []string{"signed-for-ann", "signed-for-ann", "signed-for-bob"} {
		r := httptest.NewRequest(http.MethodGet, "/hello", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+text)
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		fmt.Println(text, w.Code, w.Header().Get("RateLimit"))
	}
	// Output:
	// signed-for-ann 200 "1-in-1m";r=0;t=60
	// signed-for-ann 429 "1-in-1m";r=0;t=60
	// signed-for-bob 200 "1-in-1m";r=0;t=60
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
