package localstore

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// id is a key in a scope.
type id struct{ scope, key string }

// maxText is the longest key that is kept as it is.
const maxText = 120

// digest returns the hash of a long key. Callers do not know the secret, so they can't make a
// key equal to the hash of another.
func digest(secret *[32]byte, key string) string {
	h := sha256.New()
	h.Write(secret[:])
	h.Write([]byte(key))
	return string(h.Sum(nil))
}

// seed is that of all hashes of the process.
var seed = maphash.MakeSeed()

// hash returns the hash of a key in a scope, given the hash of its text.
func hash(key uint64, scope string) uint64 {
	if scope != "" {
		key ^= maphash.String(seed, scope) * 3
	}
	return key
}

// small is a key and its state, in a cache line. Under several limits it has the state of the
// first one, and its text ends in the number of a row with the others.
type small struct {
	state exact.State
	class uint16   // index in the table's classes
	n     uint8    // the length of the key; isLong: the text is its index in table.long
	text  [37]byte // the key
}

const (
	isLong = 255
	// rowLen is the length of a row's number, at the end of the text.
	rowLen = 4
)

func (at *small) long() uint32     { return binary.LittleEndian.Uint32(at.text[:]) }
func (at *small) setLong(i uint32) { binary.LittleEndian.PutUint32(at.text[:], i) }

func (at *small) row() uint32     { return binary.LittleEndian.Uint32(at.text[len(at.text)-rowLen:]) }
func (at *small) setRow(i uint32) { binary.LittleEndian.PutUint32(at.text[len(at.text)-rowLen:], i) }

// class is a limit, or several, in a scope. All small keys with these limits share it.
type class struct {
	scope string
	exact.Rule
	more  []exact.Rule // of the further limits, in their order
	whole bool         // a unit of a GCRA limit takes whole microseconds
}

// maxLimits is the maximum number of limits of a small key.
const maxLimits = 8

// isSmall reports whether a small key can have the state of a limit. The state of a sliding
// window grows.
func isSmall(l *store.Limit) bool { return l.Algorithm != store.SlidingWindow }

// newClass returns the class of the charges' limits.
func newClass(scope string, charges []store.Charge) *class {
	c := &class{scope: scope, Rule: exact.RuleOf(&charges[0].Limit)}
	c.whole = c.Pace.Den == 1
	for i := range charges[1:] {
		c.more = append(c.more, exact.RuleOf(&charges[i+1].Limit))
	}
	return c
}

// is reports whether a class has the charges' limits. The caller compares the scope.
func (c *class) is(charges []store.Charge) bool {
	if len(charges) != 1+len(c.more) || !c.Is(&charges[0].Limit) {
		return false
	}
	for i := range c.more {
		if !c.more[i].Is(&charges[i+1].Limit) {
			return false
		}
	}
	return true
}

// twins reports whether two of the limits count the same, and so have one state.
func (c *class) twins() bool {
	for i := range c.more {
		for j := range i + 1 {
			if c.at(j).Is(&c.more[i].Limit) {
				return true
			}
		}
	}
	return false
}

// at returns the rule of the i-th limit.
func (c *class) at(i int) *exact.Rule {
	if i == 0 {
		return &c.Rule
	}
	return &c.more[i-1]
}

// ask is a request for units of a key.
type ask struct {
	id
	hash          uint64
	charges       []store.Charge // for their limits
	class         *class         // of the limits in the scope, if known
	cost, reserve int64          // of the only charge
}

// take decides a request under one limit, given the state. It returns the earliest slot.
func (c *class) take(a *ask, st *exact.State, now int64) (slot int64) {
	if a.cost == 0 || a.cost > c.Max {
		return now
	}
	if _, slot = c.Slot(st, nil, now, min(a.cost+a.reserve, c.Max)); slot <= now {
		c.Book(st, now, a.cost)
	}
	return slot
}

// outcome returns the decision on cost units, from the view of the state after it and their
// earliest slot.
func (c *class) outcome(remaining, reset, cost, slot, now int64) (o store.Outcome) {
	o.Remaining, o.ResetAfter = remaining, time.Duration(reset)*time.Microsecond
	o.At = store.Instant(now)
	if o.RetryAfter = time.Duration(slot-now) * time.Microsecond; cost > c.Max {
		o.RetryAfter = store.Never
	}
	return o
}
