package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// redisServer is a Redis that can be made to fail.
type redisServer interface {
	// describe says what and where it is, for people.
	describe() string
	addr() string
	// kill ends it as SIGKILL does: connections are reset, new ones refused.
	kill() error
	// hang makes it accept connections and commands but answer nothing, until
	// wake.
	hang() error
	wake() error
	// restart brings a killed one back at the same address, with its memory or
	// without.
	restart(keep bool) error
	// close ends it, whatever was done to it before.
	close()
}

func openRedis(o options) (redisServer, error) {
	if o.real || o.redisServer != "" {
		return startReal(o.redisServer)
	}
	return startEmbedded(freeAddr)
}

// freeAddr returns a loopback address that nobody listens on. Its port is below
// those that systems give to whoever wants any, so that nobody else gets it
// while Redis is away.
func freeAddr() (string, error) {
	const lowest, beyond = 20000, 32000
	var last error
	for range 100 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(beyond-lowest)))
		l, err := net.Listen("tcp", addr)
		if err == nil {
			return addr, l.Close()
		}
		last = err
	}
	return "", fmt.Errorf("no port is free for redis: %w", errors.Unwrap(last))
}
