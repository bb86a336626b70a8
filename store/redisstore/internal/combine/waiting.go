package combine

// waiting holds the keys with calls.
type waiting[K comparable, C any] struct {
	keys  map[K]*keyState[K, C]
	ready list[*keyState[K, C]] // with unsent calls, and free
	spare []*keyState[K, C]
}

// maxSpare is the maximum number of unused keyStates that are kept.
const maxSpare = 1024

// of returns the state of a key. It creates a missing one.
func (w *waiting[K, C]) of(key K) *keyState[K, C] {
	if k := w.keys[key]; k != nil {
		return k
	}
	var k *keyState[K, C]
	if n := len(w.spare) - 1; n >= 0 {
		k, w.spare = w.spare[n], w.spare[:n]
	} else {
		k = new(keyState[K, C])
		k.node.of = k
	}
	k.key = key
	w.keys[key] = k
	return k
}

// queue makes a key ready if it is free and has unsent calls. A key is free while fewer than
// ofKey batches under way have it.
func (w *waiting[K, C]) queue(k *keyState[K, C], ofKey int) {
	if !k.ready && k.underWay < ofKey && !k.calls.empty() {
		k.ready = true
		w.ready.push(&k.node)
	}
}

// remove takes out a call that waits.
func (w *waiting[K, C]) remove(e *entry[K, C]) {
	k := e.key
	k.calls.remove(&e.node)
	if k.calls.empty() {
		if k.ready {
			k.ready = false
			w.ready.remove(&k.node)
		}
		w.forget(k)
	}
}

// fill moves calls to an empty batch. Keys leave in the order in which they became
// ready.
func (w *waiting[K, C]) fill(b *batch[K, C], maxKeys, maxCalls, ofKey int) {
	for !w.ready.empty() && len(b.keys) < maxKeys && len(b.calls) < maxCalls {
		k := w.ready.pop()
		k.ready = false
		b.add(k, maxCalls)
		w.queue(k, ofKey)
	}
}

// land takes a key out of a batch that is back.
func (w *waiting[K, C]) land(k *keyState[K, C], ofKey int) {
	k.underWay--
	w.queue(k, ofKey)
	w.forget(k)
}

// forget drops a key without calls.
func (w *waiting[K, C]) forget(k *keyState[K, C]) {
	if k.underWay > 0 || !k.calls.empty() {
		return
	}
	delete(w.keys, k.key)
	if len(w.spare) < maxSpare {
		var none K
		k.key = none
		w.spare = append(w.spare, k)
	}
}
