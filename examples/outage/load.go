package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// inFlight is the maximum number of requests under way.
const inFlight = 64

// request is a request to send.
type request struct {
	customer, replica int
	due               time.Time
}

// order returns the customer of each of four requests, evenly spread.
func order(all []customer) []int {
	given := make([]int, len(all))
	var turns []int
	for n := 1; n <= 4; n++ {
		next := 0
		for i, c := range all {
			if c.share*n-4*given[i] > all[next].share*n-4*given[next] {
				next = i
			}
		}
		given[next]++
		turns = append(turns, next)
	}
	return turns
}

// pace passes requests on at a steady rate, until ctx ends. Each customer's go round the
// replicas. A request counts from the time at which it is due: late senders add latency,
// late timers here do not.
func pace(ctx context.Context, rate, replicas int, all []customer, to chan<- request) {
	defer close(to)
	turns := order(all)
	sent := make([]int, len(all))
	every := time.Second / time.Duration(rate)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for due := time.Now(); ; due = due.Add(every) {
		r := request{due: due}
		if wait := time.Until(due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			r.due = time.Now()
		}
		r.customer = turns[0]
		turns = append(turns[1:], r.customer)
		r.replica = sent[r.customer] % replicas
		sent[r.customer]++
		select {
		case to <- r:
		case <-ctx.Done():
			return
		}
	}
}

// load sends requests at a steady rate until ctx ends, and returns after the last answer.
func load(ctx context.Context, rate int, urls []string, all []customer, m *meter) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: inFlight}, Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	requests := make(chan request)
	var done sync.WaitGroup
	for range inFlight {
		done.Go(func() {
			for r := range requests {
				status, err := send(client, urls[r.replica], all[r.customer].apiKey)
				m.answered(r.customer, status, err, time.Since(r.due))
			}
		})
	}
	pace(ctx, rate, len(urls), all, requests)
	done.Wait()
}

// send makes a request. An error means a lost request.
func send(client *http.Client, url, apiKey string) (status int, err error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("X-API-Key", apiKey)
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	switch {
	case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= 500:
		return resp.StatusCode, nil
	}
	return 0, fmt.Errorf("the API answered %s", resp.Status)
}
