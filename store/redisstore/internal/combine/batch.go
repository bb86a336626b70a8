package combine

import (
	"context"
	"time"
)

// Group is all calls of one key in a batch, in their order of arrival.
type Group[K comparable, C any] struct {
	Key   K
	Calls []*C
}

// entry is one call in the queue.
type entry[K comparable, C any] struct {
	node  node[*entry[K, C]] // in calls of the key
	key   *keyState[K, C]
	ctx   context.Context // for its deadline
	state state
	batch *batch[K, C]  // if onWire
	done  chan struct{} // gets one value when the call is decided

	call C
	err  error
}

// state is the progress of an entry.
type state int8

const (
	unsent   state = iota
	onWire         // in a batch under way
	decided        // done has its value, or gets it soon
	orphaned       // onWire, and its caller left
)

// keyState is a key with calls. A batch has it under way from its own formation until
// the formation of the batch after.
type keyState[K comparable, C any] struct {
	node     node[*keyState[K, C]] // in ready of the queue
	ready    bool                  // whether it is
	key      K
	calls    list[*entry[K, C]] // unsent
	underWay int                // batches
}

// batch is the calls of one round trip.
type batch[K comparable, C any] struct {
	groups  []Group[K, C]
	calls   []*C // of all groups
	entries []*entry[K, C]
	keys    []*keyState[K, C]

	took    time.Duration // the round trip. 0: it failed
	callers int           // that have not left
	ctx     context.Context
	cancel  context.CancelFunc
}

func newEntry[K comparable, C any]() *entry[K, C] {
	e := &entry[K, C]{done: make(chan struct{}, 1)}
	e.node.of = e
	return e
}

// add moves the unsent calls of a key to the batch, up to maxCalls in all.
func (b *batch[K, C]) add(k *keyState[K, C], maxCalls int) {
	from := len(b.calls)
	for !k.calls.empty() && len(b.calls) < maxCalls {
		e := k.calls.pop()
		e.state, e.batch = onWire, b
		b.calls, b.entries = append(b.calls, &e.call), append(b.entries, e)
	}
	k.underWay++
	b.keys = append(b.keys, k)
	b.groups = append(b.groups, Group[K, C]{k.key, b.calls[from:len(b.calls):len(b.calls)]})
	b.callers = len(b.calls)
}

// open creates the context.
func (b *batch[K, C]) open() {
	if deadline, ok := b.deadline(); ok {
		b.ctx, b.cancel = context.WithDeadline(context.Background(), deadline)
	} else {
		b.ctx, b.cancel = context.WithCancel(context.Background())
	}
}

// deadline returns the latest deadline of the callers. It reports false if a caller has
// none.
func (b *batch[K, C]) deadline() (latest time.Time, ok bool) {
	for _, e := range b.entries {
		deadline, ok := e.ctx.Deadline()
		if !ok {
			return time.Time{}, false
		}
		if deadline.After(latest) {
			latest = deadline
		}
	}
	return latest, true
}

// decide marks the calls of a batch that is back as decided. It removes the orphaned
// calls from the batch and returns them.
func (b *batch[K, C]) decide(err error) (orphans []*entry[K, C]) {
	told := b.entries[:0]
	for _, e := range b.entries {
		if e.state == orphaned {
			orphans = append(orphans, e)
		} else {
			e.state, e.err = decided, err
			told = append(told, e)
		}
	}
	clear(b.entries[len(told):])
	b.entries = told
	return orphans
}

// reset empties the batch.
func (b *batch[K, C]) reset() {
	clear(b.groups)
	clear(b.calls)
	clear(b.entries)
	clear(b.keys)
	b.groups, b.calls, b.entries, b.keys = b.groups[:0], b.calls[:0], b.entries[:0], b.keys[:0]
	b.ctx, b.cancel, b.took = nil, nil, 0
}
