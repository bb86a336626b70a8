package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir/examples/internal/crew"
	"github.com/goweir/weir/examples/internal/sharedredis"
)

const (
	workers = 4
	// callers is how many goroutines call in each worker. Together they are more
	// than a window admits, so that somebody waits for every slot.
	callers = 8

	// startUp is how long the workers may take to start and to end.
	startUp = 10 * time.Second

	hammering   = 8 * time.Second
	hammerEvery = 10 * time.Millisecond
)

// play runs the upstream with its workers and the API with its customers, side
// by side.
func play(ctx context.Context, o options, s *sharedredis.Redis, progress io.Writer) (result, error) {
	r := result{options: o, store: s.What, length: runLength(o.duration, o.margin)}
	up := newUpstream(allowances)
	upServer, err := serve(up)
	if err != nil {
		return r, err
	}
	defer upServer.close()
	api, err := newAPI(s.Store, s.Run+"-api")
	if err != nil {
		return r, err
	}
	apiServer, err := serve(api)
	if err != nil {
		return r, err
	}
	defer apiServer.close()
	for _, c := range customers {
		r.served = append(r.served, &served{customer: c})
	}

	// A worker that hangs does not hang the run.
	bounded, cancel := context.WithTimeout(ctx, r.length+startUp)
	defer cancel()
	fleet, err := crew.Start(bounded, workerEnv, slices.Repeat([]job{{
		Redis: s.URL, Limiter: s.Run, Upstream: upServer.url,
		Margin: o.margin, Length: r.length, Callers: callers,
	}}, workers))
	if err != nil {
		return r, err
	}
	defer fleet.Stop()
	beating := min(hammering, r.length/2)
	fmt.Fprintf(progress, "upstream: allows %s; %d workers call it for %v, as fast as they are let\n", describe(allowances), workers, r.length)
	fmt.Fprintf(progress, "API:      a free and a pro customer each ask %d times a second, for %v\n", time.Second/hammerEvery, beating)
	fmt.Fprintf(progress, "store:    %s\n\n", s.What)

	var beside sync.WaitGroup
	ended := make(chan struct{})
	beside.Go(func() { r.follow(progress, up, ended) })
	beside.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, beating)
		defer cancel()
		hammer(ctx, apiServer.url, r.served, hammerEvery)
	})
	end := time.Since(up.start) + r.length
	if err = fleet.Tell(); err == nil {
		r.tallies, err = crew.Outcomes[tally](fleet)
	}
	close(ended)
	beside.Wait()
	r.arrivals = up.seen()
	r.calls, r.refused = up.counts()
	if n := len(r.arrivals); n > 0 {
		r.lasted = max(end, r.arrivals[n-1]+1) - r.arrivals[0]
	}
	return r, err
}

// follow prints what happened, once a second, until ended is closed.
func (r *result) follow(w io.Writer, up *upstream, ended <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for start := time.Now(); ; {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		calls, refused := up.counts()
		fmt.Fprintf(w, "%3.0fs  upstream: %3d calls, %d refused", time.Since(start).Seconds(), calls, refused)
		for _, s := range r.served {
			fmt.Fprintf(w, "   %s: %3d served, %3d refused", s.name, s.ok.Load(), s.limited.Load())
		}
		fmt.Fprintln(w)
	}
}
