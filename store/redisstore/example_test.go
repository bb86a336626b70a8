package redisstore_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/goweir/weir/store/redisstore"
)

// A service starts whether or not Redis is there, and logs why decisions would fail.
func ExampleOpen() {
	ctx := context.Background()
	redis, err := redisstore.Open(os.Getenv("REDIS_URL"), redisstore.Config{})
	if err != nil {
		log.Fatal(err) // a wrong URL: Open does no I/O
	}
	defer redis.Close()
	for _, finding := range redis.Check(ctx) {
		log.Print(finding) // and go on: behind package fallback a service works without Redis
	}
}

// The URLs of all kinds of servers.
func ExampleOpen_urls() {
	for _, url := range []string{
		"redis://localhost:6379/0",
		"rediss://user:password@redis.example.com:6380",
		"unix:///run/redis.sock",
		"redis://node1:6379?addr=node2:6379&addr=node3:6379",
		"redis://sentinel1:26379?master_name=main&addr=sentinel2:26379&password=secret",
		"redis://user:hunter2@redis.example.com:6379?raed_timeout=1s",
	} {
		store, err := redisstore.Open(url, redisstore.Config{})
		if err != nil {
			fmt.Println(err)
			continue
		}
		_ = store.Close()
		fmt.Println("ok")
	}
	// Output:
	// ok
	// ok
	// ok
	// ok
	// ok
	// weir: redisstore.Open: url: want options of go-redis as parameters, as read_timeout=1s, got an unknown one or a wrong value in parameter 1
}

// A deployment's test fails with the remedy.
func ExampleStore_Check() {
	store, err := redisstore.Open("redis://127.0.0.1:1", redisstore.Config{}) // no server is there
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	for _, f := range store.Check(context.Background()) {
		if f.Level == redisstore.Fault {
			fmt.Println(f.Name, "at", f.Server)
			fmt.Println(f.What)
			fmt.Println(f.Remedy)
		}
	}
	// Output:
	// away at 127.0.0.1:1
	// the server does not answer
	// start it, and see address and firewall
}
