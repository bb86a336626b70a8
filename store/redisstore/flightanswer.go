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
			f.entries[i].left = true
		}
		return
	case err != nil:
		err = classify(err)
	case isTold(reply) && len(cmd.entries) == 1:
		f.entries[cmd.entries[0]].hear(f.sent, reply)
		return
	case f.entries[cmd.entries[0]].terms.rules != nil:
		f.readQuick(cmd, reply)
		return
	case len(reply) != 1+3*len(cmd.entries):
		err = errReply
	}
	for k, i := range cmd.entries {
		e := &f.entries[i]
		switch {
		case err != nil:
			e.fail(err)
		case reply[1+3*k] < 0 && len(cmd.entries) > 1:
			e.left = true
		case reply[1+3*k] < 0 || reply[1+3*k] > int64(e.calls):
			e.fail(errReply)
		default:
			e.answer(f.sent, reply[0], reply[1+3*k], exact.Micros{Whole: reply[2+3*k], Rem: reply[3+3*k]})
		}
	}
}

// readQuick notes what the calls of a command were told by the script's quick part.
func (f *flight) readQuick(cmd *packed, reply []int64) {
	each := 0
	if len(reply) > 0 && (len(reply)-1)%len(cmd.entries) == 0 {
		each = (len(reply) - 1) / len(cmd.entries)
	}
	for k, i := range cmd.entries {
		e := &f.entries[i]
		if each != 1+3*len(e.terms.rules.charges) {
			e.fail(errReply)
			continue
		}
		list := reply[1+k*each:][:each]
		switch calls := int64(e.calls); {
		case list[0] == 0 && len(cmd.entries) > 1:
			e.left = true
		case list[0] != calls:
			e.fail(errReply)
		default:
			e.tell(f.sent, told{calls, calls, quickly(reply[0], list[1:]), false})
		}
	}
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
func (e *entry) hear(sent time.Duration, reply []int64) {
	told, err := readTold(reply, e.calls)
	if err != nil {
		e.fail(err)
		return
	}
	e.tell(sent, told)
}

// tell has each of the calls told.
func (e *entry) tell(sent time.Duration, told told) {
	n := int64(0)
	e.each(func(w *waiting) {
		n++
		w.alone = n > told.calls
		w.answer = told.answer(n, sent)
	})
}

// each does something to each call.
func (e *entry) each(f func(w *waiting)) {
	for w := e.first; w != nil; w = w.next {
		f(w)
	}
}
