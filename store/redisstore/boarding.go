package redisstore

import (
	"errors"
	"fmt"
)

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
	go f.fly()
	w.tell()
}

const (
	// manyKeys is how many keys one flight has where the next ones take a lane each.
	manyKeys = 40
	// fewCalls is how many calls are not worth a flight of their own.
	fewCalls = 20
)

// board takes calls from the line, and reports whether it did. A flight that was
// given up as slow does not: others go on without it.
func (f *flight) board() bool {
	c := f.combiner
	c.mu.Lock()
	defer c.mu.Unlock()
	f.calls = f.calls[:0] // which the watch looks at
	if f.turn != c.turn {
		return false
	}
	f.choose()
	n := 0
	for lane, mine := range f.lanes {
		if mine {
			n += min(len(c.line[lane]), mostCalls)
		}
	}
	if n == 0 {
		return false
	}
	f.embark(n)
	for lane, mine := range f.lanes {
		if mine {
			c.busy[lane], c.moved[lane], c.aloft[lane] = true, true, f
			c.line[lane] = f.take(c.line[lane])
		}
	}
	f.absent = n - len(f.calls)
	return true
}

// choose has the flight, which is back from its lanes, take all that are free; or
// one of two, when the other is worth a flight as well.
func (f *flight) choose() {
	c := f.combiner
	for lane, mine := range f.lanes {
		if mine {
			c.busy[lane] = false
		}
	}
	f.lanes = [lanes]bool{!c.busy[0], !c.busy[1]}
	if f.lanes[0] && f.lanes[1] && len(f.entries) >= manyKeys && len(c.line[0]) >= fewCalls && len(c.line[1]) >= fewCalls {
		f.lanes[1], c.busy[1] = false, true
		go (&flight{combiner: c, turn: c.turn, lanes: [lanes]bool{false, true}}).fly()
	}
}

// take takes the first calls of a line, but for those whose context has ended, and
// returns the others.
func (f *flight) take(line []*waiting) []*waiting {
	n := min(len(line), mostCalls)
	for _, w := range line[:n] {
		if w.state.Load()&patient != 0 && w.ctx.Err() != nil {
			w.nudge()
			continue
		}
		w.trip = f.trip
		if w.move(inLine, inFlight) {
			f.calls = append(f.calls, w)
		}
	}
	rest := copy(line, line[n:])
	clear(line[rest:])
	return line[:rest]
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
