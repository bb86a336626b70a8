package combine

import "slices"

// keyOf returns the state of a key. It creates a missing one.
func (q *Queue[K, C]) keyOf(key K) *keyState[K, C] {
	if k := q.keys[key]; k != nil {
		return k
	}
	k := q.states.Get().(*keyState[K, C])
	k.key = key
	q.keys[key] = k
	return k
}

// isFree reports whether calls of a key may leave: see the package's documentation.
func (q *Queue[K, C]) isFree(k *keyState[K, C]) bool {
	return k.underWay < max(1, q.pace.trips/2) || k.sent < q.pace.worth
}

// update makes a key ready if it is free and has unsent calls, and drops a key without calls.
func (q *Queue[K, C]) update(k *keyState[K, C]) {
	switch {
	case len(k.calls) > 0:
		if !k.ready && q.isFree(k) {
			k.ready = true
			q.ready = append(q.ready, k)
		}
	case k.underWay == 0:
		delete(q.keys, k.key)
		q.states.Put(k)
	}
}

// fill moves waiting calls of free keys to an empty batch, and drops calls whose callers left.
// It reports false if there are no calls.
func (q *Queue[K, C]) fill(b *batch[K, C]) bool {
	n := 0
	for n < len(q.ready) && len(b.keys) < q.config.MaxKeys && len(b.calls) < q.config.MaxCalls {
		k := q.ready[n]
		n++
		k.ready = false
		k.calls = slices.DeleteFunc(k.calls, q.gone)
		b.add(k, q.config.MaxCalls-len(b.calls))
		q.update(k)
	}
	q.ready = slices.Delete(q.ready, 0, n)
	return len(b.calls) > 0
}

// gone reports whether the caller of an entry left, and releases such an entry.
func (q *Queue[K, C]) gone(e *entry[K, C]) bool {
	if !e.left {
		return false
	}
	q.release(e)
	return true
}
