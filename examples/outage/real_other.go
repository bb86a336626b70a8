//go:build !unix

package main

import "errors"

func startReal(string) (redisServer, error) {
	return nil, errors.New("-real and -redis-server: need the signals of Unix")
}
