package main

import "time"

// phase is a stretch of the run with one state of Redis.
type phase struct {
	name   string
	begin  func(redisServer) error // nil: no action
	outage bool
	from   time.Duration // since the start of the run
	to     time.Duration
}

// plan divides a run into phases of whole seconds, in proportion to the default run of 24
// s.
func plan(d time.Duration) []phase {
	kill := func(s redisServer) error { return s.kill() }
	hang := func(s redisServer) error { return s.hang() }
	wake := func(s redisServer) error { return s.wake() }
	forgetful := func(s redisServer) error { return s.restart(false) }
	restored := func(s redisServer) error { return s.restart(true) }
	steps := []struct {
		phase
		share time.Duration
	}{
		{phase{name: "up"}, 4},
		{phase{name: "killed", begin: kill, outage: true}, 3},
		{phase{name: "back, empty", begin: forgetful}, 4},
		{phase{name: "hung", begin: hang, outage: true}, 3},
		{phase{name: "back", begin: wake}, 4},
		{phase{name: "killed", begin: kill, outage: true}, 2},
		{phase{name: "back, full", begin: restored}, 4},
	}
	var all []phase
	var shares, from time.Duration
	for _, s := range steps {
		shares += s.share
		s.from, s.to = from, (d * shares / 24).Round(time.Second)
		from = s.to
		all = append(all, s.phase)
	}
	return all
}
