package redisstore

import (
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// The common case is a call that takes of one GCRA limit, now or not at all.
// The script's first part decides any number of them. For it KEYS are the keys'
// states, and ARGV consists of groups of 13: what some of the keys have in
// common.
//
//	[1] the signature of the limit and '|', as the states begin
//	[2] cost·T and [3] the capacity, in whole µs
//	[4] the cost
//	[5] the remainder of cost·T, [6] that of the capacity, [7] their denominator
//	[8] the calls of each key, which are decided one after the other
//	[9] how many keys the group has
//	[10] a test's clock in µs, or "" for the server's
//	[11] the units that have to be free, with those to leave to others; 0 where
//	     that is the cost
//	[12] and [13] the time they take, in whole µs and the remainder
//
// The last group may end after [3], where the cost is 1 and there are no
// remainders, or after [7], where there is one call of each key that is left;
// both only where nothing has to be left.
//
// For keys of several slots of a cluster KEYS is empty, and before the groups ARGV
// has "p", how many keys there are, and the keys, see packing.
//
// The reply is a list of numbers: the instant, and for each key how many of its
// calls were admitted and its TAT afterwards (whole µs and remainder). A key that
// is not common was left as it is and has -1, 0, 0. If there is only that one, the
// rest of the script decides and replies as to "calls", see script.go.

// terms are what is asked of a key by calls that go in flights, worked out once: a
// cost of one limit, in the common case, or what the rules say.
type terms struct {
	rules *rules // nil: the common case

	rate, period, max, cost, need int64

	pace exact.Pace
	each exact.Micros // the time that cost units take
	room exact.Micros // how far ahead the TAT may be afterwards
	args [7]any       // the arguments of a group up to [7], see above
	left [3]any       // those from [11] on
}

// Where the last group may end, and where all others do.
const (
	groupShort  = 3
	groupOfOnes = 7
	groupFull   = 13
)

// group appends a group to a call's arguments, the last one as short as it may be.
func (t *terms) group(args []any, calls, keys int, clock any, last bool) []any {
	switch {
	case !last || calls > 1 || clock != "" || t.need > t.cost:
		return append(append(append(args, t.args[:]...), calls, keys, clock), t.left[:]...)
	case t.cost == 1 && t.each.Rem == 0 && t.pace.Full.Rem == 0:
		return append(args, t.args[:groupShort]...)
	}
	return append(args, t.args[:groupOfOnes]...)
}

func newTerms(c *store.Charge) *terms {
	l, cost := &c.Limit, c.Cost
	t := &terms{rate: l.Rate, period: int64(l.Period), max: l.Max(), cost: cost, need: c.Need(), pace: exact.PaceOf(l)}
	t.each = t.pace.Span(cost)
	t.room, t.left = t.pace.Full, [3]any{0, 0, 0}
	if t.need > cost {
		need := t.pace.Span(t.need)
		t.room = t.room.Minus(t.pace.Span(t.need-cost), t.pace.Den)
		t.left = [3]any{t.need, need.Whole, need.Rem}
	}
	t.args = [7]any{
		spec(l) + "|", t.each.Whole, t.pace.Full.Whole, cost,
		t.each.Rem, t.pace.Full.Rem, t.pace.Den,
	}
	return t
}

// knownTerms keeps those that were asked for last.
type knownTerms [256]atomic.Pointer[terms]

// of returns the terms of a charge of a GCRA limit.
func (k *knownTerms) of(c *store.Charge) *terms {
	l, cost, most, need := &c.Limit, c.Cost, c.Limit.Max(), c.Need()
	h := ((uint64(l.Rate)*31+uint64(l.Period))*31+uint64(most))*31 + uint64(cost) + uint64(need-cost)*37
	place := &k[h*0x9e3779b97f4a7c15>>56]
	t := place.Load()
	if t == nil || t.cost != cost || t.need != need || t.max != most || t.rate != l.Rate || t.period != int64(l.Period) {
		t = newTerms(c)
		place.Store(t)
	}
	return t
}

// answer is what the script says of one call.
type answer struct {
	now     int64
	tat     exact.Micros
	allowed bool
	rest    []int64       // what the rest of the script told; nil if it was not asked
	after   int64         // calls that were admitted after this one, and are in what it told
	firm    bool          // nothing is in what it told that could be given back
	sent    time.Duration // by the clock of the store
}

// decision is what a request's caller sees.
func (a *answer) decision(req *store.Request, t *terms) (store.Decision, error) {
	if a.rest != nil {
		var few [4]exact.Outcome
		outcomes := append(few[:0], make([]exact.Outcome, len(req.Charges))...)
		v, err := a.read(req.Charges, outcomes)
		if err != nil {
			return store.Decision{}, err
		}
		return exact.Decide(req, v, outcomes), nil
	}
	var o [1]exact.Outcome
	v := exact.Verdict{Allowed: a.allowed, Now: a.now, Slot: a.now}
	if !a.allowed {
		v.Slot = t.slot(a.tat)
	}
	o[0].Slot, o[0].Viewed = v.Slot, true
	o[0].Remaining, o[0].Reset = t.pace.View(a.tat, a.now)
	return exact.Decide(req, v, o[:]), nil
}

// slot is the instant from which the cost is admitted.
func (t *terms) slot(tat exact.Micros) int64 {
	return tat.Plus(t.each, t.pace.Den).Minus(t.room, t.pace.Den).Up()
}

// numbers is a command that is not sent twice, as once is.
type numbers struct{ *redis.IntSliceCmd }

func (numbers) NoRetry() bool { return true }

var (
	byHash, byText     any = "evalsha", "eval"
	hashArg, scriptArg any = scriptSHA, script
	one                any = 1
)
