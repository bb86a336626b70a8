package measure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
)

// load is the use of a contender.
type load struct {
	keys    []string
	callers int
	lasts   time.Duration
	// every is the mean time between a caller's calls, which come at random. A call
	// that takes longer delays the next one. 0: callers don't pause.
	every time.Duration
	// timed measures how long single calls take: each, or many if callers don't pause.
	timed bool
}

// outcome is the result of a load.
type outcome struct {
	allowed, refused, failed int64
	took                     time.Duration
	mallocs                  uint64
	calls                    histogram
	err                      error // of one failed call
}

// decided returns the number of decided calls.
func (o *outcome) decided() float64 { return float64(o.allowed + o.refused) }

// check returns an error for outcomes that the load excludes.
func (o *outcome) check(allowed bool) error {
	total := o.allowed + o.refused + o.failed
	switch {
	case total == 0:
		return fmt.Errorf("no call ended")
	case o.failed == total:
		return fmt.Errorf("every call failed: %w", o.err)
	case allowed && o.refused > 0:
		return fmt.Errorf("refused %d of %d calls far below the limit", o.refused, total)
	case !allowed && o.allowed > total/100:
		return fmt.Errorf("allowed %d of %d calls over the limit", o.allowed, total)
	}
	return nil
}

// stride is the step of a caller from key to key. As a prime it reaches all keys. As a
// large number it keeps consecutive keys apart.
const stride = 7919

// drive makes callers decide for as long as the load lasts.
func drive(decide contender.Decide, l load) *outcome {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var stop atomic.Bool
	var ready, done sync.WaitGroup
	each := make([]outcome, l.callers)
	begin := make(chan struct{})
	for g := range each {
		ready.Add(1)
		done.Go(func() {
			// Each caller has its own, so that callers share the contender alone.
			var own outcome
			n := len(l.keys)
			i, step := g*n/l.callers, stride%n
			ready.Done()
			<-begin
			next := time.Now()
			for call := 0; ; call++ {
				if l.every > 0 {
					next = next.Add(time.Duration(rand.ExpFloat64() * float64(l.every)))
					time.Sleep(time.Until(next))
				}
				if stop.Load() {
					break
				}
				var start time.Time
				watch := l.timed && (l.every > 0 || call < 64 || call%16 == 0)
				if watch {
					start = time.Now()
				}
				allowed, err := decide(ctx, l.keys[i])
				if watch {
					own.calls.add(time.Since(start))
				}
				switch {
				case err != nil:
					own.failed++
					own.err = err
				case allowed:
					own.allowed++
				default:
					own.refused++
				}
				if i += step; i >= n {
					i -= n
				}
				if now := time.Now(); l.every > 0 && now.After(next) {
					next = now
				}
			}
			each[g] = own
		})
	}
	ready.Wait()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	close(begin)
	time.Sleep(l.lasts)
	stop.Store(true)
	done.Wait()
	all := &outcome{took: time.Since(start)}
	runtime.ReadMemStats(&after)
	all.mallocs = after.Mallocs - before.Mallocs
	for i := range each {
		all.join(&each[i])
	}
	return all
}

func (o *outcome) join(p *outcome) {
	o.allowed += p.allowed
	o.refused += p.refused
	o.failed += p.failed
	o.calls.join(&p.calls)
	if p.err != nil {
		o.err = p.err
	}
}

// preload makes the first decision of each key, from several callers.
func preload(ctx context.Context, decide contender.Decide, keys []string, callers int) error {
	return parallel(callers, func(caller, callers int) error { return inTurn(ctx, decide, keys, caller, callers) })
}

// inTurn decides on one caller's keys, one after another.
func inTurn(ctx context.Context, decide contender.Decide, keys []string, caller, callers int) error {
	for i := caller; i < len(keys) && ctx.Err() == nil; i += callers {
		if _, err := decide(ctx, keys[i]); err != nil {
			return err
		}
	}
	return nil
}

// parallel runs the parts of several callers at the same time.
func parallel(callers int, f func(caller, callers int) error) error {
	errs := make([]error, callers)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() { errs[caller] = caught(func() error { return f(caller, callers) }) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// makeKeys returns n keys like those of an API.
func makeKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("customer-%08d", i)
	}
	return keys
}
