// Package deny remembers refusals, so that a process can refuse equal calls without asking
// the server.
package deny

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
	"time"
)

const (
	places = 1 << 12
	// maxText bounds the remembered scope and key: 4096 of them take at most one megabyte.
	maxText = 256
	// Life is the longest time that a refusal is remembered. Resets and new limits in other
	// processes take effect within it.
	Life = time.Second
)

// Table has places for refusals, each for the last refusal of its keys. Of is a value that
// identifies the question: only an equal question is refused. Times are durations by the
// owner's clock. The zero Table is empty. It is safe for concurrent use.
type Table[Of comparable, A any] struct {
	losses atomic.Uint64
	places [places]Place[Of, A]
}

// seed is that of all Tables.
var seed = maphash.MakeSeed()

// Place holds the last refusal of its keys.
type Place[Of comparable, A any] struct {
	turn atomic.Uint64
	is   atomic.Pointer[refusal[Of, A]]
}

type refusal[Of comparable, A any] struct {
	scope, key string
	of         Of
	answer     A
	sent, ends time.Duration
	losses     uint64
}

// Place returns the place of a key.
func (t *Table[Of, A]) Place(scope, key string) *Place[Of, A] {
	h := maphash.String(seed, key) ^ maphash.String(seed, scope)*0x9e3779b97f4a7c15
	return &t.places[h%places]
}

// Turn returns a number that changes when the place forgets. Read it before the question is
// sent, and pass it to Put.
func (p *Place[Of, A]) Turn() uint64 { return p.turn.Load() }

// Get returns the remembered answer to a question, if it still holds, and the present time.
func (t *Table[Of, A]) Get(p *Place[Of, A], scope, key string, of Of, clock func() time.Duration) (a A, now time.Duration, ok bool) {
	r := p.is.Load()
	if r == nil || r.key != key || r.scope != scope || r.of != of || r.losses != t.losses.Load() {
		return a, 0, false
	}
	now = clock()
	return r.answer, now, r.sent <= now && now < r.ends
}

// Put remembers a refusal from the time that the question was sent until ends. It does
// nothing if the place forgot since turn.
func (t *Table[Of, A]) Put(p *Place[Of, A], turn uint64, scope, key string, of Of, a A, sent, ends time.Duration) {
	if len(scope)+len(key) > maxText {
		return
	}
	if last := p.is.Load(); last != nil && last.sent == sent && last.key == key && last.scope == scope && last.of == of {
		return // Another call of the same batch was first.
	}
	// The texts may be parts of far longer texts.
	r := &refusal[Of, A]{strings.Clone(scope), strings.Clone(key), of, a, sent, min(ends, sent+Life), t.losses.Load()}
	p.is.Store(r)
	if p.turn.Load() != turn {
		p.is.CompareAndSwap(r, nil)
	}
}

// Forget drops the refusal of a key.
func (t *Table[Of, A]) Forget(scope, key string) { t.Place(scope, key).Forget() }

// Forget drops the refusal of the place.
func (p *Place[Of, A]) Forget() {
	p.turn.Add(1)
	p.is.Store(nil)
}

// Changed drops the refusal of a key under other limits.
func (p *Place[Of, A]) Changed(scope, key string, of Of) {
	if r := p.is.Load(); r != nil && r.key == key && r.scope == scope && r.of != of {
		p.Forget()
	}
}

// Lose drops everything: the server may have lost its memory.
func (t *Table[Of, A]) Lose() { t.losses.Add(1) }
