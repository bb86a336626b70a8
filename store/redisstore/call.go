package redisstore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// call is one run of the script: the charges of a request sorted into the keys
// they belong to.
type call struct {
	groups []group
	order  []int // for each limit in the script's order, its place in the request
	head   [3]any
	held   string // the key of the leases; "" when none is asked for
	hold   store.Hold
	needs  []any    // where charges have to leave units: what has to be free
	renew  []string // leases to renew, in place of a decision
}

// group is what belongs to one key.
type group struct {
	state, log string // log is "" without a sliding window
	signature  string
	argv       []any // what follows the signature
}

// mode returns what the script is to do.
func (c *call) mode() string { return c.head[2].(string) }

// limits returns how many limits the key has.
func (g *group) limits() int { return g.argv[1].(int) }

func (s *Store) newCall(req *store.Request, mode string) *call {
	spare, leaves := spares[mode]
	if leaves = leaves && req.HasReserve(); leaves {
		mode = spare
	}
	c := &call{head: [3]any{s.clock(), exact.MaxWait(req), mode}, order: make([]int, 0, len(req.Charges))}
	for first := range req.Charges {
		if !earlier(req.Charges, first) {
			c.add(s, req.Charges, first, leaves)
		}
	}
	if req.Hold.Asked() && req.NeverFits() < 0 {
		c.held, c.hold = s.heldKey(req.Charges[0].Scope, req.Charges[0].Key), req.Hold
	}
	return c
}

// spares are the modes for charges that have to leave units.
var spares = map[string]string{"take": "spare", "keep": "spare keep", "look": "spare look", "calls": "spare calls"}

func (s *Store) clock() any {
	if s.now == nil {
		return ""
	}
	return s.now()
}

// earlier reports whether a charge before the i-th has the same key.
func earlier(charges []store.Charge, i int) bool {
	for j := range i {
		if charges[j].Key == charges[i].Key && charges[j].Scope == charges[i].Scope {
			return true
		}
	}
	return false
}

// add makes a group of all charges with the key of the first-th.
func (c *call) add(s *Store, charges []store.Charge, first int, leaves bool) {
	key := &charges[first]
	g := group{argv: make([]any, 2, 2+8*(len(charges)-first))}
	g.state, g.log = s.keys(key.Scope, key.Key)
	log := false
	for i := first; i < len(charges); i++ {
		ch := &charges[i]
		if ch.Key != key.Key || ch.Scope != key.Scope {
			continue
		}
		c.order = append(c.order, i)
		if g.signature != "" {
			g.signature += ","
		}
		g.signature += spec(&ch.Limit)
		p := ch.Limit.Period.Microseconds()
		g.argv = append(g.argv, ch.Cost, ch.Limit.Max(), p)
		switch ch.Limit.Algorithm {
		case store.GCRA:
			num, den := exact.Emission(&ch.Limit)
			cost := exact.Span(min(ch.Cost, ch.Limit.Max()), num, den)
			full := exact.Span(ch.Limit.Max(), num, den)
			g.argv = append(g.argv, cost.Whole, cost.Rem, full.Whole, full.Rem, den)
			if leaves {
				need := exact.Span(ch.Need(), num, den)
				c.needs = append(c.needs, ch.Need(), need.Whole, need.Rem)
			}
			continue
		case store.SlidingWindow:
			log = true
		}
		if leaves {
			c.needs = append(c.needs, ch.Need())
		}
	}
	g.argv[0], g.argv[1] = "1", len(c.order)
	for i := range c.groups {
		g.argv[1] = g.limits() - c.groups[i].limits()
	}
	if !log {
		g.argv[0], g.log = "0", ""
	}
	c.groups = append(c.groups, g)
}

// spec is a limit in a signature: what it counts by, without its name.
func spec(l *store.Limit) string {
	const letters = "gwcfa"
	b := make([]byte, 0, 32)
	b = append(b, letters[l.Algorithm])
	b = strconv.AppendInt(b, l.Rate, 10)
	b = append(b, '/')
	b = strconv.AppendInt(b, l.Period.Microseconds(), 10)
	if l.Algorithm == store.GCRA {
		b = append(b, '/')
		b = strconv.AppendInt(b, l.Max(), 10)
	}
	return string(b)
}

// args returns the command's arguments.
func (c *call) args(command, what string) []any {
	keys := 0
	for i := range c.groups {
		keys++
		if c.groups[i].log != "" {
			keys++
		}
	}
	if c.held != "" {
		keys++
	}
	args := make([]any, 0, 3+keys+len(c.head)+len(c.groups)*12+4)
	args = append(args, command, what, keys)
	for i := range c.groups {
		args = append(args, c.groups[i].state)
		if c.groups[i].log != "" {
			args = append(args, c.groups[i].log)
		}
	}
	if c.held != "" {
		args = append(args, c.held)
	}
	args = append(args, c.head[:]...)
	for i := range c.groups {
		args = append(args, c.groups[i].signature)
		args = append(args, c.groups[i].argv...)
	}
	for _, id := range c.renew {
		args = append(args, id)
	}
	if c.hold.Asked() {
		args = append(args, "hold", c.hold.Max, c.hold.ID, c.hold.Lease.Microseconds())
	}
	return append(args, c.needs...)
}

// parse reads the script's reply; order says where each limit's outcome goes,
// groups which key each is of where there are several, held whether a lease was
// asked for.
func parse(head string, order []int, groups []group, held bool) (exact.Verdict, []exact.Outcome, error) {
	r := reader{text: head}
	v := exact.Verdict{Allowed: r.next() == 1, Now: r.next(), Slot: r.next()}
	outcomes := make([]exact.Outcome, len(order))
	key, next := 0, len(order)
	if len(groups) > 1 {
		next = groups[0].limits()
	}
	for n, i := range order {
		if n == next {
			key++
			next += groups[key].limits()
		}
		outcomes[i] = exact.Outcome{Slot: r.next(), State: exact.State{A: r.next(), B: r.next(), C: r.next()}, Brake: key}
	}
	if held {
		v.Full = r.next()
	}
	if strings.HasPrefix(r.text, "! ") {
		r.text = r.text[2:]
		v.Braked, v.Brakes = true, make([]exact.Braked, key+1)
		for i := range v.Brakes {
			v.Brakes[i] = r.brake()
		}
	}
	if r.bad || r.text != "" {
		return v, nil, fmt.Errorf("%w: %.80q", errReply, head)
	}
	return v, outcomes, nil
}

// reader reads whole numbers separated by single spaces.
type reader struct {
	text string
	bad  bool
}

func (r *reader) next() int64 {
	i := 0
	for i < len(r.text) && r.text[i] != ' ' {
		i++
	}
	n, err := strconv.ParseInt(r.text[:i], 10, 64)
	r.bad = r.bad || err != nil
	r.text = r.text[min(i+1, len(r.text)):]
	return n
}
