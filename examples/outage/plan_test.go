package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Every run does the same to Redis.
func TestPlan(t *testing.T) {
	t.Parallel()
	for d := minRun; d <= maxRun; d += time.Second {
		var script script
		var at time.Duration
		for _, ph := range plan(d) {
			// An outage takes a while, and a return is long enough for a probe.
			least := time.Second
			if !ph.outage {
				least = 2 * time.Second
			}
			if ph.from != at || ph.to-ph.from < least || ph.to%time.Second != 0 {
				t.Errorf("%v: %s from %v to %v, want from %v on for at least %v", d, ph.name, ph.from, ph.to, at, least)
			}
			at = ph.to
			if ph.begin != nil {
				if err := ph.begin(&script); err != nil {
					t.Error(err)
				}
			}
		}
		if at != d {
			t.Errorf("%v: the plan lasts %v", d, at)
		}
		if got, want := strings.Join(script, ", "), "kill, restart(false), hang, wake, kill, restart(true)"; got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestPlanOfTheDefaultRun(t *testing.T) {
	t.Parallel()
	var all []string
	for _, ph := range plan(24 * time.Second) {
		all = append(all, fmt.Sprintf("%s to %v", ph.name, ph.to))
	}
	want := "up to 4s; killed to 7s; back, empty to 11s; hung to 14s; back to 18s; killed to 20s; back, full to 24s"
	if got := strings.Join(all, "; "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// script records the actions on a Redis.
type script []string

func (s *script) did(format string, args ...any) error {
	*s = append(*s, fmt.Sprintf(format, args...))
	return nil
}

func (s *script) describe() string        { return "a script, nowhere" }
func (s *script) addr() string            { return "127.0.0.1:1" }
func (s *script) kill() error             { return s.did("kill") }
func (s *script) hang() error             { return s.did("hang") }
func (s *script) wake() error             { return s.did("wake") }
func (s *script) restart(keep bool) error { return s.did("restart(%v)", keep) }
func (s *script) close()                  {}
