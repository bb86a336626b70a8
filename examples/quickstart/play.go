package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

const (
	workers = 4
	callers = 3 // of each worker: together more than a window admits
	// again is the pause of a caller that the provider refused.
	again = 400 * time.Millisecond

	calls  = 10 // allowed by the provider per period
	period = 2 * time.Second
)

// provider is the API that the workers call.
type provider struct {
	*weirtest.Provider
	url   string
	base  http.RoundTripper // reaches it
	close func() error
}

// outcome is the result of one run.
type outcome struct {
	served, refused int64
	failed          error // the first other failure of a call
}

// result is the result of both runs.
type result struct {
	without, with outcome
	allowed       int64 // the maximum of served calls in one run
}

// play runs the load without weir, and then with it. Each run has a new provider.
func play(ctx context.Context, start func(weirtest.ProviderConfig) (*provider, error), windows int, c *chart) (r result, err error) {
	r.allowed = int64(windows * calls)
	length := time.Duration(windows)*period - time.Second
	c.intro(length)
	for _, run := range []struct {
		title   string
		clients func(http.RoundTripper) ([]*http.Client, error)
		outcome *outcome
	}{
		{fmt.Sprintf("WITHOUT weir: a refused caller tries again after %v", again), plain, &r.without},
		{"WITH weir: the workers share weir.Outbound(10, 2*time.Second)", limited, &r.with},
	} {
		p, err := start(weirtest.ProviderConfig{Limits: []weir.Limit{weir.Per(calls, period).By(weir.SlidingWindow)}})
		if err != nil {
			return r, err
		}
		clients, err := run.clients(p.base)
		if err == nil {
			c.title(run.title)
			*run.outcome = load(ctx, p, clients, length, c)
		}
		if err = errors.Join(err, p.close(), ctx.Err()); err != nil {
			return r, err
		}
	}
	return r, nil
}

// plain returns the workers' clients without weir.
func plain(base http.RoundTripper) ([]*http.Client, error) {
	var all []*http.Client
	for range workers {
		all = append(all, &http.Client{Transport: base})
	}
	return all, nil
}

// limited returns the workers' clients with weir. Each has its own limiter over one
// shared store. Processes share a redisstore in the same way.
func limited(base http.RoundTripper) ([]*http.Client, error) {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		return nil, err
	}
	var all []*http.Client
	for range workers {
		limiter, err := weir.New(weir.Config{
			Name: "quickstart", Store: store, Limits: []weir.Limit{weir.Outbound(calls, period)},
		})
		if err != nil {
			return nil, err
		}
		transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Base: base})
		if err != nil {
			return nil, err
		}
		all = append(all, &http.Client{Transport: transport})
	}
	return all, nil
}

// load makes all callers call for a time, and draws the provider's view.
func load(ctx context.Context, p *provider, clients []*http.Client, length time.Duration, c *chart) (o outcome) {
	start := time.Now()
	ctx, cancel := context.WithDeadline(ctx, start.Add(length))
	defer cancel()
	var all sync.WaitGroup
	var once sync.Once
	for _, client := range clients {
		for range callers {
			all.Go(func() {
				if err := callOn(ctx, client, p.url); err != nil {
					once.Do(func() { o.failed = err })
				}
			})
		}
	}
	c.follow(ctx, p.Provider, start, length)
	all.Wait()
	counts := p.Counts()
	o.served, o.refused = counts.Admitted, counts.Refused()
	return o
}

// callOn calls until ctx ends, or until weir's next slot lies past that end.
func callOn(ctx context.Context, client *http.Client, url string) error {
	for {
		status, err := call(ctx, client, url)
		switch {
		case ctx.Err() != nil || errors.Is(err, weir.ErrLimited):
			return nil
		case err != nil:
			return err
		case status == http.StatusTooManyRequests:
			select {
			case <-time.After(again):
			case <-ctx.Done():
			}
		}
	}
}

func call(ctx context.Context, client *http.Client, url string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}
