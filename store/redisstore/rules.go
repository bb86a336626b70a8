package redisstore

import (
	"sync/atomic"

	"github.com/goweir/weir/store"
)

// rules are what calls charge one key of that are not of the common case: limits of
// any kind, and any number of them. They do not change.
//
// Such calls are in flights too: those of a key that charge the same in one script
// call, which decides them one after the other. Its ARGV is as script.go has it for
// "calls". For several keys under the same rules KEYS are all that each has, and ARGV
// is
//
//	[1] a test's clock in µs, or "" for the server's
//	[2] how many keys there are
//	[3] "many"
//
// then the signature and the rest of the rules, and for each key how many calls it
// has. For keys of several slots of a cluster KEYS is empty, and before the signature
// ARGV has how many names there are, and the names, see packing.
//
// The reply is a list of numbers. The script's second part replies the instant, and for
// each key how many of its calls were admitted and for each limit a, b and c (see
// exact.State). Of several keys one may have 0s: it was left as it is. A key that is
// alone is left to the rest of the script, which replies the instant, -2, or -3 where
// nothing is booked that could be given back, how many of the calls are told how they
// were decided, which is all of them or the first, how many of those were admitted, and
// what "take" gets behind "allowed", as it is after the calls that were admitted, and
// for the first that was not.
type rules struct {
	charges   []store.Charge // of no key, and without names
	mode      string
	signature string
	argv      []any // what follows the signature
	needs     []any // what follows that
	logged    bool  // there is a sliding window
	quick     bool  // the script's quick part may decide, and so many keys
}

// knownRules keeps the terms of rules that were asked for last.
type knownRules [256]atomic.Pointer[terms]

// of returns the terms of charges of one key. They may be in two places, so that two
// of one place do not drive each other out.
func (k *knownRules) of(s *Store, charges []store.Charge) *terms {
	h := uint64(len(charges))
	for i := range charges {
		c := &charges[i]
		for _, n := range [...]int64{c.Limit.Rate, int64(c.Limit.Period), c.Limit.Burst, int64(c.Limit.Algorithm), c.Cost, c.Reserve} {
			h = h*31 + uint64(n)
		}
	}
	first := h * 0x9e3779b97f4a7c15 >> 56
	place, other := &k[first], &k[first^1]
	t := place.Load()
	if t != nil && t.rules.are(charges) {
		return t
	}
	if o := other.Load(); o != nil && o.rules.are(charges) {
		return o
	}
	other.Store(t)
	t = &terms{rules: newRules(s, charges)}
	place.Store(t)
	return t
}

// same reports whether two are the same rules, or both nil.
func (r *rules) same(o *rules) bool {
	return r == o || r != nil && o != nil && r.are(o.charges)
}

// are reports whether these are the rules of charges.
func (r *rules) are(charges []store.Charge) bool {
	if len(charges) != len(r.charges) {
		return false
	}
	for i := range charges {
		a, b := &charges[i], &r.charges[i]
		if a.Cost != b.Cost || a.Reserve != b.Reserve || a.Limit.Rate != b.Limit.Rate || a.Limit.Period != b.Limit.Period ||
			a.Limit.Burst != b.Limit.Burst || a.Limit.Algorithm != b.Limit.Algorithm {
			return false
		}
	}
	return true
}

func newRules(s *Store, charges []store.Charge) *rules {
	r := &rules{charges: make([]store.Charge, len(charges))}
	for i, c := range charges {
		c.Scope, c.Key, c.Limit.Name = "", "", ""
		r.charges[i] = c
	}
	c := s.newCall(&store.Request{Charges: r.charges}, "calls")
	g := &c.groups[0]
	r.mode, r.signature, r.argv, r.needs, r.logged = c.mode(), g.signature, g.argv, c.needs, g.log != ""
	r.quick = r.mode == "calls"
	logged := int64(0)
	for i := range charges {
		cost := charges[i].Cost
		if charges[i].Limit.Algorithm == store.SlidingWindow {
			r.quick = r.quick && (logged == 0 || logged == cost)
			logged = cost
		}
		r.quick = r.quick && cost > 0
	}
	return r
}

// args are those of the command that decides some calls of a key.
func (r *rules) args(state string, calls int, clock any) []any {
	args := make([]any, 0, 9+len(r.argv)+len(r.needs))
	args = append(args, byHash, hashArg, one, state)
	if r.logged {
		args[2] = 2
		args = append(args, logOf(state))
	}
	args = append(args, clock, calls, r.mode, r.signature)
	return append(append(args, r.argv...), r.needs...)
}

// namesFrom is where the names of the keys are in a command that does not declare them.
const namesFrom = 7

// argsOfMany are those of the command that decides the calls of several keys, which
// it declares, or not.
func (r *rules) argsOfMany(entries []entry, which []int, declares bool, clock any) []any {
	n := len(which)
	if r.logged {
		n *= 2
	}
	args := make([]any, 0, namesFrom+1+n+len(r.argv)+len(which))
	if declares {
		args = append(args, byHash, hashArg, n)
	} else {
		args = append(args, byHash, hashArg, 0, clock, len(which), "many", n)
	}
	for _, i := range which {
		args = append(args, entries[i].key)
		if r.logged {
			args = append(args, logOf(entries[i].key))
		}
	}
	if declares {
		args = append(args, clock, len(which), "many")
	}
	args = append(append(args, r.signature), r.argv...)
	for _, i := range which {
		args = append(args, entries[i].calls)
	}
	return args
}
