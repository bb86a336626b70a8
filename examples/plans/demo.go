package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"github.com/goweir/weir/examples/internal/selfcall"
	"github.com/goweir/weir/middleware"
)

// runDemo serves on a free loopback port, plays a few customers, and prints their
// answers. stopRedis takes Redis away, or is nil if Redis is the caller's.
func runDemo(out io.Writer, redisURL string, style middleware.HeaderStyle, stopRedis func()) error {
	// A new prefix makes all limits unused. With a large budget a busy machine is no
	// outage.
	store, closeStore, err := newStore(redisURL, "plans:"+rand.Text()+":", time.Second)
	if err != nil {
		return err
	}
	defer closeStore()
	service, err := newService(store, someAccounts(), style)
	if err != nil {
		return err
	}
	url, client, stop, err := selfcall.Serve(service)
	if err != nil {
		return err
	}
	defer stop()
	v := &visitor{out: out, url: url, client: client}
	v.play(stopRedis)
	return v.err
}

// play makes the requests of a few customers.
func (v *visitor) play(stopRedis func()) {
	v.says("Ann logs in, and uses her API key until her plan is used up.")
	ann := v.login("ann", "pelican-92")
	for range 4 {
		v.call("GET", "/hello", ann)
	}
	v.says("She takes a bigger plan. It holds from the next request on, with the share that was used of the old one.")
	v.call("PUT", "/plan/pro", ann)
	again := v.call("GET", "/hello", ann)
	v.says(fmt.Sprintf("She waits for %v, as Retry-After says.", again))
	time.Sleep(again)
	v.call("GET", "/hello", ann)

	v.says("A guesser tries passwords of Bob. Wrong ones count, by account.")
	for _, guess := range []string{"123456", "password", "qwerty", "letmein"} {
		v.login("bob", guess)
	}
	v.says("The guesser goes on with other names: the address is refused, and then blocked.")
	for _, name := range []string{"carol", "dave", "erin", "frank"} {
		v.login(name, "123456")
	}
	v.says("Customers with an API key do not notice.")
	v.call("GET", "/hello", ann)
	v.call("GET", "/hello", "wk_invented")
	if stopRedis != nil {
		v.says("Nor that Redis goes away.")
		stopRedis()
		v.call("GET", "/hello", ann)
	}
}
