package combine

import (
	"context"
	"slices"
	"time"
)

// Group is all calls of one key in a batch, in their order of arrival.
type Group[K comparable, C any] struct {
	Key   K
	Calls []*C
	n     int // of the calls; Send may change Calls
}

// entry is one call in the queue.
type entry[K comparable, C any] struct {
	ctx     context.Context // for its deadline
	batch   *batch[K, C]    // nil: unsent
	decided bool            // done has its value, or gets it soon
	left    bool            // the caller left; the next finder of the entry releases it
	done    chan struct{}   // gets one value when the call is decided

	call C
	err  error
}

// keyState is a key with calls. A batch has it under way from its own formation until
// the formation of the batch after.
type keyState[K comparable, C any] struct {
	key      K
	calls    []*entry[K, C] // unsent, in their order; the callers of some may have left
	underWay int            // batches
	sent     int            // calls in these batches
	ready    bool           // in ready of the queue
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

// add moves up to n calls of a key to the batch, if the key has calls.
func (b *batch[K, C]) add(k *keyState[K, C], n int) {
	from := len(b.calls)
	if n = min(n, len(k.calls)); n == 0 {
		return
	}
	for _, e := range k.calls[:n] {
		e.batch = b
		b.calls, b.entries = append(b.calls, &e.call), append(b.entries, e)
	}
	k.calls = slices.Delete(k.calls, 0, n)
	k.underWay++
	k.sent += n
	b.keys = append(b.keys, k)
	b.groups = append(b.groups, Group[K, C]{k.key, b.calls[from:len(b.calls):len(b.calls)], n})
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

// reset empties the batch.
func (b *batch[K, C]) reset() {
	clear(b.groups)
	clear(b.calls)
	clear(b.entries)
	clear(b.keys)
	*b = batch[K, C]{groups: b.groups[:0], calls: b.calls[:0], entries: b.entries[:0], keys: b.keys[:0]}
}
