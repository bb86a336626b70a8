package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
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
// is not common was left as it is and has -1, 0, 0. If there is only that one, and
// one call of it, the reply is the instant, -2, and what the rest of the script
// replies.

// terms are what a limit asks of a call of some cost, worked out once.
type terms struct {
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

func newTerms(c *weir.Charge) *terms {
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
func (k *knownTerms) of(c *weir.Charge) *terms {
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

// isFast reports whether a valid request is of the common case.
func isFast(req *weir.Request) bool {
	c := &req.Charges[0]
	return len(req.Charges) == 1 && c.Limit.Algorithm == weir.GCRA && c.Cost > 0 && c.Cost <= c.Limit.Max() &&
		req.MaxWait == 0 && !req.Cancelable && !req.Hold.Asked()
}

// answer is what the script says of one call of the common case.
type answer struct {
	now     int64
	tat     exact.Micros
	allowed bool
	rest    []int64       // what the rest of the script replied; nil if it was not asked
	sent    time.Duration // by the clock of the store
}

// decision is what a request's caller sees.
func (a *answer) decision(req *weir.Request, t *terms) (weir.Decision, error) {
	var o [1]exact.Outcome
	v := exact.Verdict{Allowed: a.allowed, Now: a.now, Slot: a.now}
	if a.rest != nil {
		if err := readRest(a.rest, &v, &o[0]); err != nil {
			return weir.Decision{}, err
		}
		return exact.Decide(req, v, o[:]), nil
	}
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

func readRest(list []int64, v *exact.Verdict, o *exact.Outcome) error {
	if len(list) != 7 && len(list) != 12 {
		return fmt.Errorf("%w: %d numbers", errReply, len(list))
	}
	v.Allowed, v.Now, v.Slot = list[0] == 1, list[1], list[2]
	o.Slot, o.State = list[3], exact.State{A: list[4], B: list[5], C: list[6]}
	if len(list) == 12 {
		v.Braked = true
		v.Brakes = []exact.Braked{{At: list[7], Paused: list[8], From: list[9], Gap: list[10], Told: list[11]}}
	}
	return nil
}

// numbers is a command that is not sent twice, as once is.
type numbers struct{ *redis.IntSliceCmd }

func (numbers) NoRetry() bool { return true }

var (
	byHash, byText     any = "evalsha", "eval"
	hashArg, scriptArg any = scriptSHA, script
	one                any = 1
)

// alone has the script decide one call, on its caller's goroutine.
func (s *Store) alone(ctx context.Context, key string, t *terms) (a answer, err error) {
	args := make([]any, 4, 4+groupOfOnes)
	args[0], args[1], args[2], args[3] = byHash, hashArg, one, key
	args = t.group(args, 1, 1, s.clock(), true)
	sent := s.elapsed()
	cmd := numbers{redis.NewIntSliceCmd(ctx, args...)}
	err = s.client.Process(ctx, cmd)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		args = slices.Clone(args)
		args[0], args[1] = byText, scriptArg
		cmd = numbers{redis.NewIntSliceCmd(ctx, args...)}
		err = s.client.Process(ctx, cmd)
	}
	if err != nil {
		return a, classify(err)
	}
	reply := cmd.Val()
	switch {
	case len(reply) > 2 && reply[1] == -2:
		return answer{rest: reply[2:]}, nil
	case len(reply) == 4 && (reply[1] == 0 || reply[1] == 1):
		return answer{now: reply[0], tat: exact.Micros{Whole: reply[2], Rem: reply[3]}, allowed: reply[1] == 1, sent: sent}, nil
	}
	return a, errReply
}

// takeFast decides a request of the common case.
func (s *Store) takeFast(ctx context.Context, req *weir.Request) (weir.Decision, error) {
	q := s.question(req)
	c := &req.Charges[0]
	if a, ok := s.denied(q.place, c, q.terms); ok {
		if err := ctx.Err(); err != nil {
			return weir.Decision{}, err
		}
		return a.decision(req, q.terms)
	}
	a, err := s.shared.take(ctx, q.state(s, c), q.lane(), q.terms)
	return q.decision(s, req, &a, err)
}

// question is a request of the common case, and what was known when it was asked.
type question struct {
	terms *terms
	place *place
	hash  uint64 // of the key
	turn  uint64 // of the place
	lost  uint64 // of the denials
}

func (s *Store) question(req *weir.Request) question {
	c := &req.Charges[0]
	h := s.denials.hash(c.Scope, c.Key)
	p := s.denials.place(h)
	return question{s.terms.of(c), p, h, p.turn.Load(), s.denials.lost.Load()}
}

// state is the first of the key's names in Redis.
func (q *question) state(s *Store, c *weir.Charge) string { return q.place.names.state(s, c, q.hash) }

// lane is the key's in a combiner.
func (q *question) lane() int { return int(q.hash >> 63) }

// decision is what the caller is told of an answer, from which is learnt what the
// next ones may be told.
func (q *question) decision(s *Store, req *weir.Request, a *answer, err error) (weir.Decision, error) {
	c := &req.Charges[0]
	switch {
	case err != nil:
		s.denials.failed(err)
		return weir.Decision{}, err
	case a.allowed || a.rest != nil:
		if q.place.of(c) != nil {
			q.place.forget()
		}
	default:
		s.denials.refused(q.place, q.turn, c, a, denial{lost: q.lost, heard: s.elapsed()})
	}
	return a.decision(req, q.terms)
}

// stateKey is the first of keys.
func (s *Store) stateKey(scope, key string) string {
	if !simple(scope, true) || !simple(key, false) || len(scope)+len(key) > longestText {
		state, _ := s.keys(scope, key)
		return state
	}
	var b strings.Builder
	b.Grow(len(s.prefix) + len(scope) + len(key) + 3)
	b.WriteString(s.prefix)
	b.WriteByte('{')
	b.WriteString(scope)
	b.WriteByte(':')
	b.WriteString(key)
	b.WriteByte('}')
	return b.String()
}
