package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// combiner has the concurrent calls of a line share the wire. A call that
// comes while nothing is under way goes at once, on its own goroutine. Those that
// come meanwhile wait in a line, and go together when it is back: calls of one
// key in one script call, those of several keys in one as well, or one behind the
// other in a pipeline.
type combiner struct {
	store *Store
	packs packing
	pool  sync.Pool // of *waiting

	mu      sync.Mutex
	flying  int // flights under way
	line    []*waiting
	watched bool // the watch is set
	moved   bool // somebody was taken from the line since the watch was set
}

const (
	// mostFlights is how many flights are under way at once, unless they are slow.
	// With one, calls are decided in the order in which they came; more are no
	// faster, as each then has fewer calls.
	mostFlights = 1
	// slowFlight is how long calls wait for flights that do not come back before
	// one more sets off.
	slowFlight = 10 * time.Millisecond
	// mostCalls is the most calls of a flight.
	mostCalls = 1024
)

// waiting is a call in the line or in a flight.
type waiting struct {
	ctx   context.Context
	key   string
	terms *terms
	trip  *flightContext // of its flight
	next  *waiting       // the next of the same key in a flight
	state atomic.Int32
	done  chan struct{} // gets one value when it is decided

	answer answer
	alone  bool // it has to ask by itself
	err    error
}

// States of a waiting call.
const (
	inLine = iota
	inFlight
	decided
	gone // its caller's context has ended
)

func newCombiner(s *Store) *combiner {
	c := &combiner{store: s}
	c.pool.New = func() any { return &waiting{done: make(chan struct{}, 1)} }
	c.packs.of(s.client)
	return c
}

// take decides one call.
func (c *combiner) take(ctx context.Context, key string, t *terms) (answer, error) {
	c.mu.Lock()
	if c.flying < mostFlights && len(c.line) == 0 {
		c.flying++
		c.mu.Unlock()
		defer c.land()
		return c.store.alone(ctx, key, t)
	}
	w := c.pool.Get().(*waiting)
	w.ctx, w.key, w.terms = ctx, key, t
	c.line = append(c.line, w)
	if !c.watched {
		c.watched, c.moved = true, false
		time.AfterFunc(slowFlight, c.watch)
	}
	c.mu.Unlock()

	if end := ctx.Done(); end == nil {
		<-w.done
	} else {
		select {
		case <-w.done:
		case <-end:
			if w.leave() {
				return answer{}, ctx.Err()
			}
			<-w.done
		}
	}
	a, alone, err := w.answer, w.alone, w.err
	*w = waiting{done: w.done}
	c.pool.Put(w)
	if alone {
		return c.store.alone(ctx, key, t)
	}
	return a, err
}

// leave reports whether the call is not decided yet, and will not be heard of.
func (w *waiting) leave() bool {
	if w.state.CompareAndSwap(inLine, gone) {
		return true
	}
	if !w.state.CompareAndSwap(inFlight, gone) {
		return false
	}
	w.trip.leave(1)
	return true
}

// tell has the caller go on.
func (w *waiting) tell() {
	if w.state.CompareAndSwap(inFlight, decided) {
		w.done <- struct{}{}
	}
}

// land ends a flight of one call. Those in the line go next.
func (c *combiner) land() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.line) > 0 && c.flying <= mostFlights {
		go (&flight{combiner: c}).fly()
		return
	}
	c.flying--
}

// fly takes those in the line, as long as there are any.
func (f *flight) fly() {
	for f.board() {
		if len(f.calls) > 0 {
			defer f.arrive() // Even if a hook of the client's ends the goroutine.
			f.run()
			return
		}
	}
}

// arrive tells the calls of a flight that they are decided, and sets off again
// with those that came meanwhile. That begins before the last one is told: the
// scheduler runs it behind all the others, so that they can come again and be taken
// along, at once and without a timer.
func (f *flight) arrive() {
	last := len(f.calls) - 1
	for _, w := range f.calls[:last] {
		w.tell()
	}
	w := f.calls[last]
	f.flown = true
	go f.fly()
	w.tell()
}

// board takes calls from the line, and reports whether it did. A flight that is
// back while others are under way ends: those that set off because it was slow
// would otherwise stay, each with fewer calls.
func (f *flight) board() bool {
	c := f.combiner
	f.calls = f.calls[:0]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved = true
	n := min(len(c.line), mostCalls)
	if n == 0 || f.flown && c.flying > mostFlights {
		c.flying--
		return false
	}
	f.embark(n)
	for _, w := range c.line[:n] {
		w.trip = f.trip
		if w.state.CompareAndSwap(inLine, inFlight) {
			f.calls = append(f.calls, w)
		}
	}
	f.absent = n - len(f.calls)
	rest := copy(c.line, c.line[n:])
	clear(c.line[rest:])
	c.line = c.line[:rest]
	return true
}

// run asks Redis what the calls are to be told.
func (f *flight) run() {
	over := false
	defer func() {
		// On a caller's goroutine a panic of the client's hooks would be the
		// caller's to handle, and so would be runtime.Goexit. On this one it would
		// end the program, and leave callers without an answer.
		if r := recover(); r != nil {
			f.fail(fmt.Errorf("redisstore: the client panicked: %v", r))
		} else if !over {
			f.fail(errors.New("redisstore: the client ended its goroutine"))
		}
	}()
	if len(f.calls) > 0 {
		defer f.disembark()
		f.ask()
	}
	over = true
}

// fail has all calls fail that are not decided.
func (f *flight) fail(err error) {
	for _, w := range f.calls {
		w.err = err
	}
}

// watch has one more flight set off while those under way do not come back.
func (c *combiner) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.line) == 0 {
		c.watched = false
		return
	}
	if !c.moved {
		c.flying++
		go (&flight{combiner: c}).fly()
	}
	c.moved = false
	time.AfterFunc(slowFlight, c.watch)
}
