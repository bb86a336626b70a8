package weir

import "sync"

const (
	// maxLater is the maximum number of calls that run at once, for one limiter. A
	// store needs 50 ms a call to reach it at 10 000 calls a second.
	maxLater = 512
	// maxLaterQueue is the maximum number that wait for their turn.
	maxLaterQueue = 16 * maxLater
)

// laters runs the calls of the store that follow responses.
type laters struct {
	mu      sync.Mutex
	running int
	queue   []func()
}

// begin runs a call on a goroutine, now or later. It reports false when too many wait.
func (r *laters) begin(call func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.running < maxLater:
		r.running++
		go r.run(call)
	case len(r.queue) < maxLaterQueue:
		r.queue = append(r.queue, call)
	default:
		return false
	}
	return true
}

// run runs a call, and then the waiting calls.
func (r *laters) run(call func()) {
	for ; call != nil; call = r.next() {
		call()
	}
}

// next returns the call that has waited the longest; nil: none waits, and the goroutine
// ends.
func (r *laters) next() (call func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		r.queue = nil
		r.running--
		return nil
	}
	call, r.queue[0] = r.queue[0], nil
	r.queue = r.queue[1:]
	return call
}
