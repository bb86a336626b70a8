package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// good is a run that kept its promise.
func good() *result {
	r := &result{
		options: options{margin: 200 * time.Millisecond},
		lasted:  11 * time.Second,
		calls:   75,
		tallies: []tally{{Calls: 40, TurnedOff: 1, Redis: 41, Waits: []time.Duration{6e9, 5e9}}, {Calls: 35, Redis: 34}},
	}
	for window := range time.Duration(3) {
		for range 25 {
			r.arrivals = append(r.arrivals, window*5200*time.Millisecond)
		}
	}
	for _, c := range customers {
		s := &served{customer: c, took: time.Second, sample200: "HTTP/1.1 200 OK\r\n\r\nhello\n", sample429: "HTTP/1.1 429 Too Many Requests\r\n"}
		s.ok.Store(10)
		s.requests.Store(10)
		r.served = append(r.served, s)
	}
	return r
}

func TestBroken(t *testing.T) {
	t.Parallel()
	if err := good().broken(); err != nil {
		t.Fatalf("a good run: %v", err)
	}
	for _, c := range []struct {
		name  string
		spoil func(*result)
		want  string
	}{
		{"one call too many", func(r *result) { r.refused = 1 }, "refused 1 calls"},
		{"too few calls", func(r *result) { r.calls = 71 }, "only 94.7 %"},
		{"no calls", func(r *result) { *r = result{} }, "only 0.0 %"},
		{"a failed call", func(r *result) { r.tallies[1] = tally{Failed: 2, Failure: "no redis"} }, "2 calls of a worker failed: no redis"},
		{"a plan exceeded", func(r *result) { r.served[0].ok.Store(12) }, "the free customer 12 times, where 10"},
		{"a broken API", func(r *result) { r.served[1].err = errors.New("no API") }, "no API"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := good()
			c.spoil(r)
			if err := r.broken(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	good().print(&b)
	for _, want := range []string{
		"UPSTREAM (allows 25 per any 5s and 300 per any 1m, by its own clock)\n",
		"  calls                          75, by worker 40 + 35\n",
		"  refused with 429               0\n",
		"  budget                         75 calls are the most allowed in 11.0s\n",
		"  share of the budget used       100.0 %\n",
		"  pace between windows           4.81 calls per second of 5.00, 96.2 %\n",
		"  26 calls took at least         5.200s, with a margin of 200ms\n",
		"  Redis calls per admitted call  1.00: 75, of which 1 for slots past the end\n",
		"  waiting time                   p50 0.0s, p95 0.0s, longest 6.0s\n",
		"  free     5 per second          10      10        0  10 in 1.0s\n",
		"\n  HTTP/1.1 200 OK\n\n  hello\n\n  HTTP/1.1 429 Too Many Requests\n\nThe promise held",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}
