package weirgin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/goweir/weir"
	weirgin "github.com/goweir/weir/adapters/gin"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// claims are those of a JWT.
type claims map[string]any

// authenticate stands for a JWT middleware: gin-jwt sets JWT_PAYLOAD to the claims of a
// token that it has verified.
func authenticate(c *gin.Context) {
	token, ok := strings.CutPrefix(c.GetHeader("Authorization"), "Bearer ")
	if !ok {
		c.AbortWithStatus(http.StatusUnauthorized)
		return
	}
	c.Set("JWT_PAYLOAD", claims{"sub": strings.TrimPrefix(token, "signed-for-"), "plan": "pro"})
}

// claimOf returns a claim, which with gin-jwt is jwt.ExtractClaims(c)[name].
func claimOf(c *gin.Context, name string) (string, bool) {
	verified, _ := c.Value("JWT_PAYLOAD").(claims)
	claim, ok := verified[name].(string)
	return claim, ok
}

// Users are counted by the subject of their JWT, under the limits of their plan.
func ExampleKey() {
	store, err := localstore.New(localstore.Config{}) // with replicas: redisstore
	check(err)
	plans := map[string][]weir.Limit{
		"free": {weir.PerMinute(1).WithName("free")},
		"pro":  {weir.PerMinute(2).WithName("pro")},
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: plans["free"]})
	check(err)
	planOf := weirgin.Key(func(c *gin.Context) (string, bool) { return claimOf(c, "plan") })
	limit, err := weirgin.New(middleware.Config{
		Limiter: limiter,
		Key:     weirgin.Key(func(c *gin.Context) (string, bool) { return claimOf(c, "sub") }),
		Limits: func(r *http.Request) ([]weir.Limit, error) {
			if plan, err := planOf(r); err == nil && plans[plan] != nil {
				return plans[plan], nil
			}
			return plans["free"], nil // An error would let the request pass unlimited.
		},
	})
	check(err)
	engine := gin.New()
	engine.Use(authenticate, limit)
	engine.GET("/hello", func(c *gin.Context) { c.String(http.StatusOK, "hello") })

	for _, token := range []string{"signed-for-ann", "signed-for-ann", "signed-for-ann", "signed-for-bob"} {
		r := httptest.NewRequest(http.MethodGet, "/hello", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, r)
		fmt.Println(token, w.Code, w.Header().Get("RateLimit"))
	}
	// Output:
	// signed-for-ann 200 "pro";r=1;t=30
	// signed-for-ann 200 "pro";r=0;t=30
	// signed-for-ann 429 "pro";r=0;t=30
	// signed-for-bob 200 "pro";r=1;t=30
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
