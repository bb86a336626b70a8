package redisstore

import (
	"context"
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
	busy    [lanes]bool // a flight of the lane is under way
	line    [lanes][]*waiting
	turn    int         // counts the times when flights were given up
	watched bool        // the watch is set
	moved   [lanes]bool // somebody was taken from the line since the watch was set
}

const (
	// lanes is how many flights are under way at once. The calls of a key are in
	// one lane, so that they are decided in the order in which they came. One flight
	// takes both, but for where there are many keys: while the server decides those
	// of one, this process can prepare the others.
	lanes = 2
	// slowFlight is how long calls wait for flights that do not come back before
	// others set off.
	slowFlight = 10 * time.Millisecond
	// mostCalls is the most calls of a lane in a flight.
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
	c.packs.turn = make(chan struct{}, 1)
	return c
}

// take decides one call, of a key in some lane.
func (c *combiner) take(ctx context.Context, key string, lane int, t *terms) (answer, error) {
	c.mu.Lock()
	if c.busy == [lanes]bool{} && c.queued() == 0 {
		c.busy, c.moved = [lanes]bool{true, true}, [lanes]bool{true, true}
		turn := c.turn
		c.mu.Unlock()
		defer c.land(turn)
		return c.store.alone(ctx, key, t)
	}
	w := c.enqueue(ctx, key, lane, t)
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
	a, alone, err := c.outcome(w)
	if alone {
		return c.store.alone(ctx, key, t)
	}
	return a, err
}

// start has a flight decide a call, of a key in some lane, on whose done channel its
// caller is to wait.
func (c *combiner) start(ctx context.Context, key string, lane int, t *terms) *waiting {
	c.mu.Lock()
	defer c.mu.Unlock()
	idle := c.busy == [lanes]bool{} && c.queued() == 0
	w := c.enqueue(ctx, key, lane, t)
	if idle {
		c.setOff()
	}
	return w
}

// enqueue puts a call into the line. The lock is held.
func (c *combiner) enqueue(ctx context.Context, key string, lane int, t *terms) *waiting {
	w := c.pool.Get().(*waiting)
	w.ctx, w.key, w.terms = ctx, key, t
	c.line[lane] = append(c.line[lane], w)
	if !c.watched {
		c.watched, c.moved = true, [lanes]bool{}
		time.AfterFunc(slowFlight, c.watch)
	}
	return w
}

// outcome returns what a call was told, which is not looked at again.
func (c *combiner) outcome(w *waiting) (a answer, alone bool, err error) {
	a, alone, err = w.answer, w.alone, w.err
	*w = waiting{done: w.done}
	c.pool.Put(w)
	return a, alone, err
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

// queued is how many calls are in the line.
func (c *combiner) queued() int { return len(c.line[0]) + len(c.line[1]) }

// land ends a flight of one call. Those in the line go next.
func (c *combiner) land(turn int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if turn != c.turn {
		return
	}
	c.busy = [lanes]bool{}
	if c.queued() > 0 {
		c.setOff()
	}
}

// setOff has a flight begin that takes those in the line.
func (c *combiner) setOff() {
	c.busy = [lanes]bool{true, true}
	go (&flight{combiner: c, turn: c.turn, lanes: c.busy}).fly()
}

// watch gives flights up that do not come back: others go on without them.
func (c *combiner) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queued() == 0 {
		c.watched = false
		return
	}
	for lane, line := range c.line {
		if len(line) > 0 && !c.moved[lane] {
			c.turn++
			c.setOff()
			break
		}
	}
	c.moved = [lanes]bool{}
	time.AfterFunc(slowFlight, c.watch)
}
