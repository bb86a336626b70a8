package main

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

func TestEmbedded(t *testing.T) {
	// This test is not parallel to tests that start programs. Until such a program runs,
	// it has this process's sockets, and goes on listening in those that are closed here.
	s, err := startEmbedded(freeAddr)
	if err != nil {
		t.Fatal(err)
	}
	exercise(t, s)
}

// exercise makes all changes of the plan to a Redis, and closes it.
func exercise(t *testing.T, s redisServer) {
	t.Helper()
	defer s.close()
	const patience = 10 * time.Second // for a busy machine
	options := &redis.Options{Addr: s.addr(), DialTimeout: patience, ReadTimeout: patience}
	redisstore.Configure(options)
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	do := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	// holds expects a value, or "" for none.
	holds := func(what, want string) {
		t.Helper()
		got, err := client.Get(t.Context(), "key").Result()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", what, got, err, want)
		}
	}
	away := func(what string, hung bool) {
		t.Helper()
		timeout := patience
		if hung {
			timeout = 200 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		err := client.Get(ctx, "key").Err()
		// The context's deadline is also the socket's, which may end a little earlier.
		ended := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
		if err == nil || errors.Is(err, redis.Nil) || ended != hung {
			t.Errorf("%s: %v", what, err)
		}
	}
	set := func() { t.Helper(); do("set", client.Set(t.Context(), "key", "value", time.Minute).Err()) }

	set()
	do("kill", s.kill())
	away("killed", false)
	do("restart", s.restart(false))
	holds("back, empty", "")
	set()
	do("hang", s.hang())
	away("hung", true)
	do("wake", s.wake())
	holds("back", "value")
	do("kill", s.kill())
	do("restart", s.restart(true))
	holds("back, full", "value")
	do("hang", s.hang()) // close must end that as well
}

func TestFreeAddr(t *testing.T) {
	t.Parallel()
	addr, err := freeAddr()
	if err != nil || len(addr) != len("127.0.0.1:20000") {
		t.Errorf("%q, %v", addr, err)
	}
}

// TestAddressIsTaken: an address belongs to its first listener.
func TestAddressIsTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := 0
	e, err := startEmbedded(func() (string, error) {
		if asked++; asked < 3 {
			return l.Addr().String(), nil
		}
		return freeAddr()
	})
	if err != nil || asked < 3 { // more if another program takes the free address first
		t.Fatalf("asked %d times, %v", asked, err)
	}
	e.close()
	if e, err = startEmbedded(func() (string, error) { return l.Addr().String(), nil }); err == nil {
		e.close()
		t.Error("an address that is never free was taken")
	}
}
