package fallback_test

import (
	"log"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

// Four replicas share a limiter over Redis, and go on without Redis.
func Example() {
	redis, err := redisstore.Open("redis://redis:6379", redisstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer redis.Close()
	store, err := fallback.New(fallback.Config{
		Primary:  redis,
		Replicas: 4,
		Grace:    time.Minute,
		Policies: map[string]fallback.Policy{"login": fallback.LocalThenClosed},
		OnChange: func(c fallback.Change) { log.Printf("redis away: %v, after %v: %v", c.Err != nil, c.After, c.Err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{Store: store, Name: "api", Limits: []weir.Limit{weir.PerSecond(100)}})
	if err != nil {
		log.Fatal(err)
	}
	_ = limiter
	http.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		// An outage of Redis is worth showing, but the replica stays in service.
		_, _ = w.Write([]byte("limits are decided by: " + store.State().String() + "\n"))
	})
}
