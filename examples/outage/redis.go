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
	// describe names the kind of Redis and its address, for readers.
	describe() string
	addr() string
	// kill ends it like SIGKILL: connections are reset, new ones refused.
	kill() error
	// hang makes it accept connections and commands without an answer, until wake.
	hang() error
	wake() error
	// restart starts a killed one at the same address, with its data or without.
	restart(keep bool) error
	// close ends it in any state.
	close()
}

func openRedis(o options) (redisServer, error) {
	if o.real || o.redisServer != "" {
		return startReal(o.redisServer)
	}
	return startEmbedded(freeAddr)
}

// freeAddr returns a loopback address without a listener. Systems give other programs
// higher ports, so the address stays free while Redis is away.
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
