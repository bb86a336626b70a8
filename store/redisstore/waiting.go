package redisstore

import (
	"context"
	"sync/atomic"
)

// waiting is a call in the line or in a flight.
type waiting struct {
	ctx   context.Context
	key   string
	terms *terms
	trip  *flightContext // of its flight
	next  *waiting       // the next of the same key in a flight
	state atomic.Int32
	done  chan struct{} // gets one value when it is decided, and one when it is nudged

	answer answer
	alone  bool // it has to ask by itself
	err    error
}

// The stages of a waiting call, and what else its state tells of it.
const (
	inLine = iota
	inFlight
	decided
	gone // its caller's context has ended

	stage   = 3
	patient = 4 // its caller looks at nothing but done
	nudged  = 8 // its caller is no longer patient, as done has got a value for that
)

func newWaiting() any { return &waiting{done: make(chan struct{}, 2)} }

// wait waits until the call is decided. It reports false if the context ends before.
//
// To wait for two things takes the scheduler much longer than for one. A caller of
// whom nobody knows when the context may end begins with one: the call is decided
// within the time of a round trip, or the combiner's watch nudges its caller.
func (w *waiting) wait(ctx context.Context) bool {
	end := ctx.Done()
	if end == nil || w.state.Load()&(patient|nudged) != 0 {
		<-w.done
		switch s := w.state.Load(); {
		case s&nudged == 0:
			return true
		case s&stage == decided:
			<-w.done
			return true
		}
	}
	select {
	case <-w.done:
	case <-end:
		if w.leave() {
			return false
		}
		<-w.done
	}
	return true
}

// patience is the state in which a call of this context begins to wait.
func patience(ctx context.Context) int32 {
	if _, ends := ctx.Deadline(); ends || ctx.Done() == nil {
		return inLine
	}
	return inLine | patient
}

// nudge has a patient caller, if the call is not decided, look at the context too.
func (w *waiting) nudge() {
	for {
		s := w.state.Load()
		if s&patient == 0 || s&stage > inFlight {
			return
		}
		if w.state.CompareAndSwap(s, s&^patient|nudged) {
			w.done <- struct{}{}
			return
		}
	}
}

// move has the call go from a stage to another, and reports whether it was there.
func (w *waiting) move(from, to int32) bool {
	for {
		s := w.state.Load()
		if s&stage != from {
			return false
		}
		if w.state.CompareAndSwap(s, s&^stage|to) {
			return true
		}
	}
}

// leave reports whether the call is not decided yet, and will not be heard of.
func (w *waiting) leave() bool {
	if w.move(inLine, gone) {
		return true
	}
	if !w.move(inFlight, gone) {
		return false
	}
	w.trip.leave(1)
	return true
}

// tell has the caller go on.
func (w *waiting) tell() {
	if w.move(inFlight, decided) {
		w.done <- struct{}{}
	}
}

// outcome returns what the call was told, and leaves it as a new one.
func (w *waiting) outcome() (a answer, alone bool, err error) {
	a, alone, err = w.answer, w.alone, w.err
	w.ctx, w.key, w.terms, w.trip, w.next = nil, "", nil, nil, nil
	w.answer, w.alone, w.err = answer{}, false, nil
	w.state.Store(inLine)
	return a, alone, err
}
