// Package combine lets concurrent calls share round trips to a server.
//
// A [Queue] decides when calls leave and which calls leave together. The function
// [Config.Send] knows the server.
//
//   - A call leaves at once while few round trips are under way and few have its key. Many
//     calls share fewer of them. Its caller runs Send, as without a queue.
//   - Any other call waits. When a round trip returns, the next batch takes the waiting
//     calls of all keys that are free, up to the bounds of a batch. No timer delays it.
//   - A key is free while no round trip or fewer than half of the possible ones have it,
//     and on a network while only a few of its calls are under way.
//   - Calls of a key leave in their order of arrival. On loopback no two round trips under
//     way hold the same key, so the server decides in that order too.
//   - Free keys leave first come, first served. A key that is back from the server queues
//     behind the free keys that wait already. So no key starves.
//
// A Queue has no goroutine of its own. Each round trip under way has at most one, which
// ends with the round trip.
package combine

import (
	"cmp"
	"context"
	"sync"
)

// Defaults of a Config. More round trips shorten the delay on slow networks. Fewer make
// larger batches, which cost the server and the process less: see docs/redis.md, and
// TestDelay.
const (
	DefaultRoundTrips = 3
	defaultMaxKeys    = 256
	defaultMaxCalls   = 1024
)

// Config says how a Queue sends. Only Send is required.
type Config[K comparable, C any] struct {
	// Send decides all calls of a batch in one round trip. It writes results into the
	// calls, and keeps neither the batch nor the calls after it returns. Its error is
	// the error of every call in the batch. An error of one call belongs in C.
	//
	// A call that leaves at once has the context of its caller. All other batches have a
	// context without values. Its deadline is the latest one of the callers, if all have
	// one. It ends when all callers have left.
	//
	// A panic reaches the caller that runs Send. Callers that wait get an error.
	Send func(ctx context.Context, batch []Group[K, C]) error
	// Stays tells of a call that its caller waits for Send once the call is sent, whatever
	// becomes of the caller's context. nil: none.
	Stays func(*C) bool
	// RoundTrips is the maximum number of round trips under way at once. 0 means
	// DefaultRoundTrips, and more where round trips take longer: one for each 60 µs, up
	// to MaxRoundTrips.
	RoundTrips int
	// MaxRoundTrips is for RoundTrips = 0. 0 means DefaultRoundTrips; fewer than these
	// are the number of round trips.
	MaxRoundTrips int
	MaxKeys       int // of a batch. 0 means 256
	MaxCalls      int // of a batch. 0 means 1024
}

// Queue lets concurrent calls share round trips. All methods are safe for concurrent
// use. A Queue needs no Close.
type Queue[K comparable, C any] struct {
	config  Config[K, C]
	entries sync.Pool // of *entry[K, C]
	batches sync.Pool // of *batch[K, C]
	states  sync.Pool // of *keyState[K, C]

	mu       sync.Mutex
	keys     map[K]*keyState[K, C]
	ready    []*keyState[K, C] // with unsent calls, and free, in the order in which they leave
	underWay int               // round trips
	sent     int               // calls in these round trips
	pace     pace
}

// New returns a Queue. Negative bounds mean the defaults, as 0 does.
func New[K comparable, C any](config Config[K, C]) *Queue[K, C] {
	config.MaxKeys = cmp.Or(max(config.MaxKeys, 0), defaultMaxKeys)
	config.MaxCalls = cmp.Or(max(config.MaxCalls, 0), defaultMaxCalls)
	q := &Queue[K, C]{config: config, keys: make(map[K]*keyState[K, C]), pace: newPace(config.RoundTrips, config.MaxRoundTrips)}
	q.entries.New = func() any { return &entry[K, C]{done: make(chan struct{}, 1)} }
	q.batches.New = func() any { return new(batch[K, C]) }
	q.states.New = func() any { return new(keyState[K, C]) }
	return q
}

// entry returns an unsent entry.
func (q *Queue[K, C]) entry(ctx context.Context, call C) *entry[K, C] {
	e := q.entries.Get().(*entry[K, C])
	e.ctx, e.call = ctx, call
	return e
}

// outcome returns a decided call and its error, and releases the entry.
func (q *Queue[K, C]) outcome(e *entry[K, C]) (C, error) {
	call, err := e.call, e.err
	q.release(e)
	return call, err
}

// release empties an entry for its next use.
func (q *Queue[K, C]) release(e *entry[K, C]) {
	*e = entry[K, C]{done: e.done}
	q.entries.Put(e)
}
