package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// flight is a number of calls that go to Redis together.
type flight struct {
	combiner *combiner
	turn     int         // of the combiner, when it first set off
	lanes    [lanes]bool // that it has
	calls    []*waiting
	absent   int // of those it was to take, who left before
	trip     *flightContext
	done     chan struct{} // of the context, when all may leave

	entries []entry
	at      map[string]int // the last entry of each key
	sorts   []sort
	cmds    []*packed
	sent    time.Duration // by the clock of the store
}

// entry is the calls of a key that follow each other and ask for the same.
type entry struct {
	key         string
	terms       *terms
	first, last *waiting
	calls       int
	other       bool // there is another one of the key
	packed      bool // it is in a command
	left        bool // the command has left it as it was
}

// sort is what entries of a command have in common.
type sort struct {
	terms *terms
	calls int
	n     int // how many they are
}

// packed is a command and its entries, in the order of its KEYS.
type packed struct {
	numbers
	entries []int
	first   int8 // where its first key is, if it declares none
}

// say makes the command one of these arguments.
func (p *packed) say(ctx context.Context, args []any) {
	p.numbers = numbers{redis.NewIntSliceCmd(ctx, args...)}
	if p.first > 0 {
		p.SetFirstKeyPos(p.first)
	}
}

// ask has the calls decided.
func (f *flight) ask() {
	f.sortOut()
	ctx := f.context()
	apart := len(f.entries) == 1
	if !apart {
		is, silent := f.combiner.packs.ask(ctx, f.combiner.store, false)
		if silent != nil {
			f.fail(silent) // The calls have waited as long as for an answer of their own.
			return
		}
		apart = is != together
	}
	f.pack(ctx, apart)
	f.carryOut(ctx)
	if f.packLeft(ctx) {
		f.carryOut(ctx)
	}
}

// carryOut sends the commands, and reads what they reply.
func (f *flight) carryOut(ctx context.Context) {
	f.sent = f.combiner.store.elapsed()
	f.send(ctx)
	f.unsplit(ctx)
	for i := range f.cmds {
		f.read(f.cmds[i])
	}
}

// sortOut makes entries of the calls.
func (f *flight) sortOut() {
	if f.at == nil {
		f.at = make(map[string]int, len(f.calls))
	}
	clear(f.at)
	clear(f.entries)
	f.entries = f.entries[:0]
	for _, w := range f.calls {
		w.next = nil
		if i := len(f.entries) - 1; i >= 0 && f.entries[i].add(w) {
			continue
		}
		other := false
		if i, ok := f.at[w.key]; ok {
			e := &f.entries[i]
			if e.add(w) {
				continue
			}
			if (e.terms.rules == nil) != (w.terms.rules == nil) {
				w.alone = true // It comes after those before it.
				continue
			}
			e.other, other = true, true
		}
		f.at[w.key] = len(f.entries)
		f.entries = append(f.entries, entry{key: w.key, terms: w.terms, first: w, last: w, calls: 1, other: other})
	}
}

// add reports whether a call belongs to the entry, which then has it.
func (e *entry) add(w *waiting) bool {
	if e.terms != w.terms || e.key != w.key {
		return false
	}
	e.last.next, e.last = w, w
	e.calls++
	return true
}
