package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// second is a row for one second.
type second struct {
	counts
	at        time.Duration // its end, from the start on
	phase     int
	closed    int // replicas whose breaker is closed
	outages   int // of all replicas, from the start on
	p50, p99  time.Duration
	customers []served // from the start on, in the customers' order
	promised  []int64  // the same
}

// introduce prints the plan and the timeline's head.
func (p *play) introduce(w io.Writer) {
	var asks, away, heads []string
	for _, c := range p.customers {
		asks = append(asks, fmt.Sprintf("%s asks for %d of %d", c.name, p.rate*c.share/4, c.plan.Rate))
		heads = append(heads, fmt.Sprintf("%11s", c.name))
	}
	for _, ph := range p.phases {
		if ph.outage {
			away = append(away, fmt.Sprintf("%s from %v to %v", ph.name, ph.from, ph.to))
		}
	}
	fmt.Fprintf(w, "redis:  %s\n", p.redis.describe())
	fmt.Fprintf(w, "        %s\n", strings.Join(away, ", "))
	fmt.Fprintf(w, "API:    %d replicas behind the middleware, each decides on 1/%d of the limits while Redis is away\n", p.replicas, p.replicas)
	fmt.Fprintf(w, "load:   %d requests per second for %v; %s per second\n\n", p.rate, p.duration, strings.Join(asks, ", "))
	fmt.Fprintf(w, "                            decided by   admitted/promised so far\n")
	fmt.Fprintf(w, "time  redis        breaker  redis local %s      p50      p99  5xx\n", strings.Join(heads, " "))
}

func (s *second) print(w io.Writer, redis string, replicas int) {
	var each []string
	for i, c := range s.customers {
		each = append(each, fmt.Sprintf("%11s", fmt.Sprintf("%d/%d", c.admitted, s.promised[i])))
	}
	fmt.Fprintf(w, "%3.0fs  %-11s  %-8s %5d %5d %s %8s %8s %4d\n", s.at.Seconds(), redis, breaker(s.closed, replicas),
		s.byRedis, s.locally, strings.Join(each, " "), millis(s.p50), millis(s.p99), s.failed)
}

// breaker describes the breakers of all replicas.
func breaker(closed, replicas int) string {
	switch closed {
	case replicas:
		return "closed"
	case 0:
		return "open"
	}
	return fmt.Sprintf("%d/%d open", replicas-closed, replicas)
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
}
