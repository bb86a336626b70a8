package redisstore

import (
	"time"

	"github.com/goweir/weir/internal/exact"
)

// read notes what the calls of a command are to be told.
func (f *flight) read(cmd *packed) {
	reply, err := cmd.Val(), cmd.Err()
	switch {
	case err != nil && len(cmd.entries) > 1 && f.combiner.packs.refused(f.combiner.store, err):
		for _, i := range cmd.entries {
			f.entries[i].ask()
		}
		return
	case err != nil:
		err = classify(err)
	case len(reply) > 2 && reply[1] == -2 && len(cmd.entries) == 1:
		f.entries[cmd.entries[0]].hear(reply[2:])
		return
	case len(reply) != 1+3*len(cmd.entries):
		err = errReply
	}
	for k, i := range cmd.entries {
		e := &f.entries[i]
		switch {
		case err != nil:
			e.fail(err)
		case e.terms.rules != nil:
			e.fail(errReply)
		case reply[1+3*k] < 0:
			e.ask()
		case reply[1+3*k] > int64(e.calls):
			e.fail(errReply)
		default:
			e.answer(f.sent, reply[0], reply[1+3*k], exact.Micros{Whole: reply[2+3*k], Rem: reply[3+3*k]})
		}
	}
}

// ask has each of the calls ask by itself.
func (e *entry) ask() {
	e.each(func(w *waiting) { w.alone = true })
}

func (e *entry) fail(err error) {
	e.each(func(w *waiting) { w.err = err })
}

// answer is what each of the calls finds after those before it, as taken of
// them were admitted and left tat.
func (e *entry) answer(sent time.Duration, now, taken int64, tat exact.Micros) {
	t := e.terms
	own := tat
	if taken > 1 {
		own = tat.Minus(t.pace.Span((taken-1)*t.cost), t.pace.Den)
	}
	e.each(func(w *waiting) {
		w.answer = answer{now: now, tat: own, allowed: taken > 0, sent: sent}
		if taken--; taken > 0 {
			own = own.Plus(t.each, t.pace.Den)
		} else {
			own = tat
		}
	})
}

// hear is what each of the calls is told by the rest of the script. Those that
// were not told ask by themselves.
func (e *entry) hear(list []int64) {
	told, err := readTold(list, e.calls)
	if err != nil {
		e.fail(err)
		return
	}
	n := int64(0)
	e.each(func(w *waiting) {
		n++
		w.alone = n > told.calls
		w.answer = answer{rest: told.rest, allowed: n <= told.admitted, after: max(told.admitted-n, 0)}
	})
}

// each does something to each call.
func (e *entry) each(f func(w *waiting)) {
	for w := e.first; w != nil; w = w.next {
		f(w)
	}
}
