package main

import (
	"net"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/llm"
	"github.com/goweir/weir/weirtest"
)

const model = "claude-sonnet-4"

// limits are those of the provider and of the workers.
var limits = llm.Limits{RPM: 600, ITPM: 200_000, OTPM: 60_000, Bucket: true}

// newProvider returns a provider that counts by token buckets, as Anthropic does.
// Answers are half as long as their maximum.
func newProvider() (*weirtest.Provider, error) {
	return weirtest.NewLLM(weirtest.LLMConfig{
		RPM: limits.RPM, ITPM: limits.ITPM, OTPM: limits.OTPM, Algorithm: weir.GCRA,
		Used: func(_ []byte, in, out int64) (int64, int64) { return in, out / 2 },
		Pace: 20 * time.Millisecond,
	})
}

// startProvider starts a provider behind a socket.
func startProvider() (url string, stop func(), err error) {
	p, err := newProvider()
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }() // until stop
	return "http://" + l.Addr().String(), func() { _ = s.Close() }, nil
}
