// Command echo is an API on echo, limited per API key and plan.
//
//	go run ./examples/echo
//	curl -i -H 'X-API-Key: free-key' http://127.0.0.1:8080/hello
package main

import (
	"flag"
	"log"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"

	"github.com/goweir/weir"
	weirecho "github.com/goweir/weir/adapters/echo"
	"github.com/goweir/weir/examples/internal/selfcall"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

var (
	addr = flag.String("addr", "127.0.0.1:8080", "where to listen")
	demo = flag.Bool("demo", false, "make a few requests to itself, print them, and exit")
)

// plans has each customer's limits, in place of a database.
var plans = map[string][]weir.Limit{
	"free-key": {weir.PerMinute(2).WithName("free")},
	"pro-key":  {weir.PerSecond(20).WithName("pro"), weir.PerDay(10_000).WithName("pro-daily")},
}

func main() {
	flag.Parse()
	api, err := newAPI()
	if err != nil {
		log.Fatal(err)
	}
	if *demo {
		if err := selfcall.Run(os.Stdout, api, "free-key", "free-key", "free-key", "pro-key", "invented"); err != nil {
			log.Fatal(err)
		}
		return
	}
	log.Printf("http://%s/hello", *addr)
	log.Fatal(api.Start(*addr))
}

func newAPI() (*echo.Echo, error) {
	store, err := localstore.New(localstore.Config{}) // with replicas: redisstore
	if err != nil {
		return nil, err
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: plans["free-key"]})
	if err != nil {
		return nil, err
	}
	limit, err := weirecho.New(middleware.Config{
		Limiter: limiter,
		Key:     weir.KeyAPIKey("X-API-Key", []byte(os.Getenv("API_KEY_SECRET"))),
		Limits:  func(r *http.Request) ([]weir.Limit, error) { return plans[r.Header.Get("X-API-Key")], nil },
	})
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Use(authenticate, limit)
	e.GET("/hello", func(c echo.Context) error { return c.String(http.StatusOK, "hello\n") })
	return e, nil
}

// authenticate comes before the limit, or each invented key would have a limit of its
// own.
func authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if plans[c.Request().Header.Get("X-API-Key")] == nil {
			return c.String(http.StatusUnauthorized, "unknown API key\n")
		}
		return next(c)
	}
}
