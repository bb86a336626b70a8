package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goweir/weir/examples/internal/sharedredis"
	"github.com/goweir/weir/weirtest"
)

// every is the time between two rows of the timeline.
const every = 500 * time.Millisecond

// introduce prints the plans and the timeline's head.
func introduce(w io.Writer, s *sharedredis.Redis, providers []*provider) {
	fmt.Fprintf(w, "store:    %s\n", s.What)
	fmt.Fprintf(w, "fleet:    %d processes, each %d goroutines for each provider, know of %d calls in %v\n", workers, callers, full.Rate, full.Period)
	var names, heads []string
	for _, p := range providers {
		fmt.Fprintf(w, "provider: %-7s says %s\n", p.name, p.what)
		names = append(names, fmt.Sprintf("%-20s", p.name))
		heads = append(heads, " w1  w2  w3    429 ")
	}
	fmt.Fprintf(w, "\n         %s\n   time  %s\n", strings.Join(names, "|  "), strings.Join(heads, " | "))
}

// timeline prints the arrivals at the providers, and the brakes.
type timeline struct {
	w      io.Writer
	result *result
	told   int // brakes so far
}

// row prints the events of the time that ends at an instant.
func (t *timeline) row(at time.Duration) {
	t.tell()
	var cells []string
	for _, p := range t.result.providers {
		var sent [workers]int
		refused := 0
		for _, c := range p.seen() {
			if c.at < at-every || c.at >= at {
				continue
			}
			sent[c.worker]++
			if c.refused != weirtest.NotRefused {
				refused++
			}
		}
		cell := ""
		for _, n := range sent {
			cell += fmt.Sprintf("%3s ", dot(n))
		}
		cells = append(cells, cell+fmt.Sprintf("  %3s ", dot(refused)))
	}
	fmt.Fprintf(t.w, "%6.1fs  %s\n", at.Seconds(), strings.Join(cells, " | "))
}

// note prints an action of a provider.
func (t *timeline) note(what string) {
	t.tell()
	fmt.Fprintf(t.w, "%6.3fs  %s\n", time.Since(t.result.start).Seconds(), what)
}

// tell prints the brakes since its last call.
func (t *timeline) tell() {
	brakes := t.result.braking()
	for _, b := range brakes[t.told:] {
		fmt.Fprintf(t.w, "%6.3fs  %s\n", b.at.Seconds(), b)
	}
	t.told = len(brakes)
}

func dot(n int) string {
	if n == 0 {
		return "·"
	}
	return fmt.Sprint(n)
}

// String names the call whose response braked the fleet: the last one refused shortly
// before, or else the last of all.
func (b brake) String() string {
	var by *call
	for _, c := range b.provider.seen() {
		if c.at <= b.at && (by == nil || c.refused != weirtest.NotRefused || by.refused == weirtest.NotRefused || by.at < b.at-grace) {
			by = &c
		}
	}
	switch {
	case by == nil:
		return "a worker slows down the fleet for provider " + b.provider.name
	case by.refused == weirtest.NotRefused:
		return fmt.Sprintf("worker %d learns of another limit from provider %s, and slows down the fleet", by.worker+1, b.provider.name)
	}
	return fmt.Sprintf("worker %d was refused by provider %s, and pauses the fleet", by.worker+1, b.provider.name)
}
