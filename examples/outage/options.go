package main

import (
	"flag"
	"fmt"
	"io"
	"time"
)

// options are the flags.
type options struct {
	duration    time.Duration
	rate        int
	replicas    int
	real        bool
	redisServer string
}

const (
	minRun      = 12 * time.Second
	maxRun      = 2 * time.Minute
	lowestRate  = 50
	highestRate = 1000
	maxReplicas = 8
)

func flags(o *options) *flag.FlagSet {
	f := flag.NewFlagSet("outage", flag.ContinueOnError)
	f.DurationVar(&o.duration, "duration", 24*time.Second, "how long the load lasts, 12s to 2m in whole seconds. Redis is away for a third\nof it: killed twice, hung once.")
	f.IntVar(&o.rate, "rate", 200, "the requests per second of all customers together, 50 to 1000. Their plans\ngrow with it.")
	f.IntVar(&o.replicas, "replicas", 2, "how many replicas the API has, 1 to 8, in this one process but with a client, a\n"+
		"breaker and a local store each. While Redis is away each decides on its share\nof the limits.")
	f.BoolVar(&o.real, "real", false, "start the redis-server that is found on PATH and send it SIGKILL and SIGSTOP,\n"+
		"in place of a Redis embedded in this process. Needs Unix. Its data is in a\ntemporary directory and goes with it.")
	f.StringVar(&o.redisServer, "redis-server", "", "the same with the redis-server at `PATH`.")
	return f
}

// parse reads the flags. Its error is one line.
func parse(args []string) (options, error) {
	var o options
	f := flags(&o)
	f.SetOutput(io.Discard)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.duration < minRun || o.duration > maxRun:
		return o, fmt.Errorf("-duration: want %v to %v, got %v", minRun, maxRun, o.duration)
	case o.duration%time.Second != 0:
		return o, fmt.Errorf("-duration: want whole seconds, got %v", o.duration)
	case o.rate < lowestRate || o.rate > highestRate:
		return o, fmt.Errorf("-rate: want %d to %d, got %d", lowestRate, highestRate, o.rate)
	case o.replicas < 1 || o.replicas > maxReplicas:
		return o, fmt.Errorf("-replicas: want 1 to %d, got %d", maxReplicas, o.replicas)
	}
	return o, nil
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Usage: outage [flags]\n\n"+
		"Three customers call an API on this machine, behind weir's middleware, while its\n"+
		"Redis is killed and comes back without its memory, hangs and goes on, is killed\n"+
		"again and comes back with its memory. The exit code is 1 when a request was\n"+
		"lost, or got a 5xx, or a customer was admitted more often than promised.\n\n")
	f := flags(new(options))
	f.SetOutput(w)
	f.PrintDefaults()
}
