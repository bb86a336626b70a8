package localstore

import (
	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
)

// booking decides one request. The shards of its keys are locked.
type booking struct {
	req    *weir.Request
	now    int64
	groups int
	one    group // of the common case, a single key
	many   []group
}

// group is a key and the places of its charges in the request.
type group struct {
	entry *entry
	first int
}

// places are the indices of the charges of one key.
type places struct {
	n    int
	list []int // nil: 0, 1, 2, …
}

func (p places) at(i int) int {
	if p.list == nil {
		return i
	}
	return p.list[i]
}

func (b *booking) group(i int) *group {
	if b.many == nil {
		return &b.one
	}
	return &b.many[i]
}

func (b *booking) places(g *group) places {
	if b.many == nil {
		return places{n: len(b.req.Charges)}
	}
	p := places{list: []int{}}
	for i := range b.req.Charges {
		if c := &b.req.Charges[i]; (id{c.Scope, c.Key}) == g.entry.id {
			p.list = append(p.list, i)
		}
	}
	p.n = len(p.list)
	return p
}

func (b *booking) decide(s *Store) weir.Decision {
	req := b.req
	look := req.Peek() || req.NeverFits() >= 0
	start := b.now
	var room [2]exact.Outcome
	outcomes := room[:0]
	if len(req.Charges) > len(room) {
		outcomes = make([]exact.Outcome, 0, len(req.Charges))
	}
	outcomes = outcomes[:len(req.Charges)]
	for i := range b.groups {
		g := b.group(i)
		p := b.places(g)
		if look && len(g.entry.states) > 0 && !g.entry.fits(req.Charges, p) {
			g.entry = g.entry.copy()
		}
		g.entry.match(req.Charges, p, b.now)
		start = max(start, g.entry.last)
	}
	floor, ceil := start, start
	for i := range b.groups {
		g := b.group(i)
		p := b.places(g)
		for j := range g.entry.states {
			at := p.at(j)
			outcomes[at].Slot = b.now
			if cost := req.Charges[at].Cost; cost > 0 && !look {
				f, c := g.entry.states[j].slot(start, cost)
				outcomes[at].Slot = c
				floor, ceil = max(floor, f), max(ceil, c)
			}
		}
	}
	v := exact.Verdict{Now: b.now, Slot: ceil, Allowed: !look && ceil-b.now <= exact.MaxWait(req)}
	var r *receipt
	if v.Allowed {
		if req.Cancelable {
			r = &receipt{slot: ceil}
		}
		for i := range b.groups {
			b.book(b.group(i), floor, ceil, r)
		}
	}
	for i := range b.groups {
		g := b.group(i)
		p := b.places(g)
		for j := range g.entry.states {
			st := &g.entry.states[j]
			o := &outcomes[p.at(j)]
			if st.gcra != nil {
				o.Remaining, o.Reset = st.gcra.view(b.now)
				o.Viewed = true
			} else {
				o.State = st.view(b.now)
			}
		}
	}
	d := exact.Decide(req, v, outcomes)
	if r != nil {
		d.Receipt = r
	}
	return d
}

func (b *booking) book(g *group, floor, ceil int64, r *receipt) {
	e, p := g.entry, b.places(g)
	if r != nil {
		r.keys = append(r.keys, newKept(e, b.req.Charges, p))
	}
	for j := range e.states {
		if cost := b.req.Charges[p.at(j)].Cost; cost > 0 {
			e.states[j].book(floor, ceil, cost, b.now, r != nil)
		}
	}
	if ceil > b.now {
		e.last = floor
	}
	e.change()
	e.settle()
	if r != nil {
		r.keys[len(r.keys)-1].version = e.version
	}
}
