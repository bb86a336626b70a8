package combine

// waiting holds the keys with calls.
type waiting[K comparable, C any] struct {
	keys  map[K]*keyState[K, C]
	ready list[*keyState[K, C]] // with unsent calls, and not under way
	spare []*keyState[K, C]
}

// maxSpare is the maximum number of unused keyStates that are kept.
const maxSpare = 1024

// of returns the state of a key, which it creates if need be.
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

// add makes a call of a key wait.
func (w *waiting[K, C]) add(k *keyState[K, C], e *entry[K, C]) {
	if k.calls.empty() && !k.underWay {
		w.ready.push(&k.node)
	}
	k.calls.push(&e.node)
}

// remove takes out a call that waits.
func (w *waiting[K, C]) remove(e *entry[K, C]) {
	k := e.key
	k.calls.remove(&e.node)
	if k.calls.empty() && !k.underWay {
		w.ready.remove(&k.node)
		w.forget(k)
	}
}

// fill moves calls to an empty batch. Keys leave in the order in which they became
// ready.
func (w *waiting[K, C]) fill(b *batch[K, C], maxKeys, maxCalls int) {
	for !w.ready.empty() && len(b.keys) < maxKeys && len(b.calls) < maxCalls {
		b.add(w.ready.pop(), maxCalls)
	}
}

// land marks a key as no longer under way.
func (w *waiting[K, C]) land(k *keyState[K, C]) {
	k.underWay = false
	if k.calls.empty() {
		w.forget(k)
	} else {
		w.ready.push(&k.node)
	}
}

// forget drops a key without calls.
func (w *waiting[K, C]) forget(k *keyState[K, C]) {
	delete(w.keys, k.key)
	if len(w.spare) < maxSpare {
		var none K
		k.key = none
		w.spare = append(w.spare, k)
	}
}
