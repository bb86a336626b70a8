package script

import (
	"errors"
	"strconv"
	"strings"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/redisstate"
	"github.com/goweir/weir/store"
)

// The replies of allow and take are lists of numbers, except for the parts in quotes:
//
//	allow   now, then for each key a short answer; with a tag, if there are calls, a
//	        receipt and the slot behind it
//	take    now, the slot of all, the instant from which there is room for a lease
//	        (0: there is), then for each key a long answer; with a tag a receipt behind it
//	receipt tag, sequence, entry, floor, "value before" ("?": of several calls)
//	short   the calls, 0, and for each limit its state; or a long one
//	long    the calls, the "clock" (2: none, but bookings that can be given back or are
//	        ahead; 1: neither), the slot by the server's clock, the same by the key's
//	        time, and for each limit its state and slot
//	calls   the number of admitted ones; plus 2^20 if the key counts under limits that
//	        the calls do not name
//	state   two numbers as in exact.State, of a sliding counter three; of a sliding
//	        window its live units, the slot of the newest, and always its slot
//
// Calls below 0 mean that nothing was decided, and nothing follows:
//
//	-1      the log was missing among KEYS
//	-2      allow can't decide the key; a call of take for it gets the error
//	-3      the state was lost since the caller saw it

// errReply is returned for a reply of another form.
var errReply = errors.New("redisstore: the script's reply is not what it should be")

const (
	needsLog = -1
	failed   = -2
	lost     = -3
	others   = 1 << 20
)

// Answer is the script's answer for one key.
type Answer struct {
	Calls      int64
	Others     bool // the key counts under limits that the calls do not name
	Real, Slot int64
	Plain      bool // nothing is ahead or can be given back, and there is no clock
	Clock      *exact.Move
	States     []State
}

// State is the state of one limit, and the earliest slot under it alone.
type State struct {
	exact.State
	Slot int64
}

// NeedsLog reports whether the call must be repeated with the key's log.
func (a *Answer) NeedsLog() bool { return a.Calls == needsLog }

// Lost reports whether the state was lost since the caller saw it.
func (a *Answer) Lost() bool { return a.Calls == lost }

// See fills in the state of the i-th charge's limit, for a decision at an instant.
func (a *Answer) See(limits *Limits, i int, now int64, to *store.Seen) {
	at := limits.charges[i].rule
	s, kind := a.States[at].State, limits.Rules[at].Limit.Algorithm
	if kind == store.SlidingWindow {
		s.A, s.B = s.B, s.A
	}
	if a.Clock != nil && !exact.InRealTime(kind) {
		s.A = a.Clock.Clock.Real(s.A)
	}
	*to = store.Seen{At: store.Instant(now), Used: store.Used{At: store.Instant(s.A), Units: s.B, Before: s.C}}
}

// Reply reads a reply from its start.
type Reply struct {
	list []any
	at   int
	bad  bool
}

// NewReply returns a reader of a script's reply.
func NewReply(of any) *Reply {
	list, ok := of.([]any)
	return &Reply{list: list, bad: !ok}
}

func next[T any](r *Reply) (v T) {
	ok := r.at < len(r.list)
	if ok {
		v, ok = r.list[r.at].(T)
		r.at++
	}
	r.bad = r.bad || !ok
	return v
}

// Number returns the next number.
func (r *Reply) Number() int64 { return next[int64](r) }

// Text returns the next text.
func (r *Reply) Text() string { return next[string](r) }

// Answer returns the next key's answer to a number of calls of allow, or to take: 0 calls. It
// stores the states in states. Slots are those of the first refused call.
func (r *Reply) Answer(k *Key, calls int, states []State, now int64) (a Answer) {
	if a.Calls = r.Number(); a.Calls < 0 {
		r.bad = r.bad || a.Calls < lost || a.Calls == needsLog && k.Logged || a.Calls == failed && calls == 0
		return a
	}
	a.Others, a.Calls = a.Calls >= others, a.Calls%others
	short := false
	if r.at < len(r.list) {
		if text, ok := r.list[r.at].(string); ok {
			r.at++
			c, ok := redisstate.ParseClock(text)
			a.Clock, r.bad = &exact.Move{Clock: c, Before: c}, r.bad || !ok
		} else {
			n := r.Number()
			short, a.Plain = n == 0, n < 2
		}
	}
	a.Real, a.Slot = now, now
	if !short {
		a.Real, a.Slot = r.Number(), r.Number()
	}
	for i := range k.Limits.Rules {
		rule := &k.Limits.Rules[i]
		s := State{State: exact.State{A: r.Number(), B: r.Number()}, Slot: now}
		kind := rule.Limit.Algorithm
		if kind == store.SlidingCounter {
			s.C = r.Number()
		}
		switch {
		case !short || kind == store.SlidingWindow:
			s.Slot = r.Number()
		case a.Calls < int64(calls) && k.Limits.costs[i] > 0:
			_, s.Slot = rule.Slot(&s.State, nil, now, k.Limits.needs[i])
		}
		if short && a.Calls < int64(calls) {
			a.Real = max(a.Real, s.Slot)
		}
		states = append(states, s)
	}
	a.States = states
	return a
}

// End returns errReply unless the whole reply was read and well-formed.
func (r *Reply) End() error {
	if r.bad || r.at != len(r.list) {
		return errReply
	}
	return nil
}

// View sets the outcomes of a key's charges, at places of the request, by the states of the
// limits. It returns the decision's part about the key.
func (a *Answer) View(limits *Limits, states []State, places []int, outcomes []exact.Outcome, key int, now int64) exact.Seen {
	clock, seen := new(exact.Clock), exact.Seen{Slot: a.Slot, Clock: a.Clock, Others: a.Others}
	if a.Clock != nil {
		clock = &a.Clock.Clock
	}
	for i := range limits.charges {
		at, rule := i, limits.charges[i].rule
		if places != nil {
			at = places[i]
		}
		o := &outcomes[at]
		o.Key, o.Slot = key, states[rule].Slot
		o.Remaining, o.Reset = exact.View(&limits.Rules[rule], &states[rule].State, nil, clock, now)
	}
	return seen
}

// Receipt returns the receipt that follows an answer with a tag.
func (r *Reply) Receipt(k Key, a *Answer) *Receipt {
	k.Tag = r.Number()
	c := &Receipt{Key: k, Seq: r.Number(), Entry: r.Number(), Floor: r.Number(), Before: r.Text(), Slot: a.Slot}
	for i := range a.States {
		if l := &k.Limits.Rules[i]; k.Limits.costs[i] > 0 && exact.InRealTime(l.Limit.Algorithm) {
			c.starts = append(c.starts, &exact.Window{Algorithm: l.Limit.Algorithm, Period: l.Period, Start: a.States[i].A})
		}
	}
	return c
}

// ParseBrake reads the message of a brake: the key's clock, the one before, the first slot
// ahead, and the name given to Brake.
func ParseBrake(payload string) (name string, clock store.Clock, ok bool) {
	list := strings.SplitN(payload, " ", 4)
	if len(list) != 4 {
		return "", nil, false
	}
	m, old := &exact.Move{}, true
	m.Clock, ok = redisstate.ParseClock(list[0])
	if list[1] != "0" {
		m.Before, old = redisstate.ParseClock(list[1])
	}
	first, err := strconv.ParseInt(list[2], 10, 64)
	m.First = first
	return list[3], m, ok && old && err == nil
}
