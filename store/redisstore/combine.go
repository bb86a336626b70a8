package redisstore

import (
	"context"
	"sync"
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
	turn    int            // counts the times when flights were given up
	watched bool           // the watch is set
	moved   [lanes]bool    // somebody was taken from the line since the watch was set
	aloft   [lanes]*flight // the last one of the lane
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

func newCombiner(s *Store) *combiner {
	c := &combiner{store: s}
	c.pool.New = newWaiting
	c.packs.turn = make(chan struct{}, 1)
	return c
}

// take decides one call, of a key in some lane.
func (c *combiner) take(ctx context.Context, key string, lane int, t *terms) (answer, error) {
	state := patience(ctx)
	c.mu.Lock()
	if c.busy == [lanes]bool{} && c.queued() == 0 {
		c.busy, c.moved = [lanes]bool{true, true}, [lanes]bool{true, true}
		turn := c.turn
		c.mu.Unlock()
		defer c.land(turn)
		return c.store.alone(ctx, key, t)
	}
	w := c.enqueue(ctx, key, lane, t, state)
	c.mu.Unlock()
	if !w.wait(ctx) {
		return answer{}, ctx.Err()
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
	w := c.enqueue(ctx, key, lane, t, inLine)
	if idle {
		c.setOff()
	}
	return w
}

// enqueue puts a call into the line, in some state. The lock is held.
func (c *combiner) enqueue(ctx context.Context, key string, lane int, t *terms, state int32) *waiting {
	w := c.pool.Get().(*waiting)
	w.ctx, w.key, w.terms = ctx, key, t
	w.state.Store(state)
	c.line[lane] = append(c.line[lane], w)
	if !c.watched {
		c.watched, c.moved = true, [lanes]bool{}
		time.AfterFunc(slowFlight, c.watch)
	}
	return w
}

// outcome returns what a call was told, which is not looked at again.
func (c *combiner) outcome(w *waiting) (a answer, alone bool, err error) {
	a, alone, err = w.outcome()
	c.pool.Put(w)
	return a, alone, err
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

// watch gives flights up that do not come back: others go on without them. Callers
// that are not told meanwhile are nudged.
func (c *combiner) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queued() == 0 && c.busy == [lanes]bool{} {
		c.watched, c.aloft = false, [lanes]*flight{}
		return
	}
	stuck := false
	for lane, moved := range c.moved {
		if !moved {
			c.nudge(lane)
			stuck = stuck || len(c.line[lane]) > 0
		}
	}
	if stuck {
		for lane := range lanes {
			c.nudge(lane) // Of flights that are given up nobody looks at any again.
		}
		c.turn++
		c.setOff()
	}
	c.moved = [lanes]bool{}
	time.AfterFunc(slowFlight, c.watch)
}

// nudge nudges the callers of a lane, who wait in the line or in a flight.
func (c *combiner) nudge(lane int) {
	for _, w := range c.line[lane] {
		w.nudge()
	}
	if f := c.aloft[lane]; f != nil {
		for _, w := range f.calls {
			w.nudge()
		}
	}
}
