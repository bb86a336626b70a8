package redisstore

import (
	"context"
	"errors"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// denials remembers what refused calls were told of their key, so that more of them
// are refused without asking Redis again: of one GCRA limit, and of the same rules
// where the script says that nothing could be given back; until the instant from which
// the cost is admitted, counted from when the call was sent, and so never too long.
//
// The state of such a key holds nothing that could be given back: whatever is
// booked after a refusal, and cancelled or settled by whichever process, leaves
// the key at least as full as it was then. What can free it earlier is a Reset,
// other limits for the same key, and a server that has lost its memory. Where
// this process knows of that, the refusal is forgotten at once, else after
// denialLife, as is one that was on its way when other limits came. So it is when another process takes a smaller cost meanwhile, which
// makes what a remembered refusal says of the wait too short.
//
// Of keys that share a place the last one refused is remembered.
type denials struct {
	seed   maphash.Seed
	lost   atomic.Uint64 // counts what may mean that the server has changed
	places [1 << 12]place
}

// denialLife is how long a refusal is remembered at most.
const denialLife = time.Second

// place is where the refusal of a key is kept. The turn changes with each reason
// to forget: a refusal is not kept when there was one while it was on its way.
type place struct {
	turn  atomic.Uint64
	is    atomic.Pointer[denial]
	names names
}

// denial is what a refused call was told. It does not change.
type denial struct {
	scope, key        string
	rate, period, max int64
	tat               exact.Micros
	rules             *rules        // of which it was; nil: of the limit
	rest              []int64       // what was told of those
	now               int64         // the instant of the decision by the server's clock
	sent, heard       time.Duration // by the clock of the store
	lost              uint64
}

func (n *denials) hash(scope, key string) uint64 {
	h := maphash.String(n.seed, key)
	if scope != "" {
		h ^= maphash.String(n.seed, scope) * 0x9e3779b97f4a7c15
	}
	return h
}

func (n *denials) place(hash uint64) *place { return &n.places[hash%uint64(len(n.places))] }

// of returns the denial of a key; nil if there is none.
func (p *place) of(c *store.Charge) *denial {
	if d := p.is.Load(); d != nil && d.key == c.Key && d.scope == c.Scope {
		return d
	}
	return nil
}

// slot is the instant from which its call, or one of these terms, is admitted.
func (d *denial) slot(t *terms) int64 {
	if d.rules != nil {
		return d.rest[1]
	}
	return t.slot(d.tat)
}

// under reports whether a denial was of this limit alone.
func (d *denial) under(l *store.Limit) bool {
	return d.rules == nil && l.Algorithm == store.GCRA && d.rate == l.Rate && d.period == int64(l.Period) && d.max == l.Max()
}

// denied returns what a call is refused with, without asking.
func (s *Store) denied(p *place, c *store.Charge, t *terms) (a answer, ok bool) {
	d := p.of(c)
	if d == nil || !d.rules.same(t.rules) || d.rules == nil && !d.under(&c.Limit) {
		return a, false
	}
	clock := s.elapsed()
	since := clock - d.sent
	if since < 0 || since > denialLife || d.lost != s.denials.lost.Load() {
		return a, false
	}
	// The server's clock is between these two.
	earliest := d.now + int64((clock-d.heard)/time.Microsecond)
	latest := d.now + exact.Whole(since)
	if d.slot(t) <= latest {
		return a, false
	}
	return answer{now: earliest, tat: d.tat, rest: d.rest}, true
}

// Denied refuses a valid request without asking Redis, where one for the same key
// and limit was refused just now, and reports false where Redis has to be asked. It
// is for stores around this one, see package fallback; Take looks by itself.
func (s *Store) Denied(of store.Store, req *store.Request) (d store.Decision, ok bool) {
	if of != store.Store(s) || s.plain != nil || !shared(req) {
		return d, false
	}
	q := s.question(req)
	a, ok := s.denied(q.place, &req.Charges[0], q.terms)
	if !ok {
		return d, false
	}
	d, err := a.decision(req, q.terms)
	return d, err == nil
}

// refused notes what a refused call was told, unless there was a reason to forget
// it since its turn.
func (n *denials) refused(p *place, turn uint64, c *store.Charge, a *answer, d denial) {
	d.scope, d.key = c.Scope, c.Key
	d.tat, d.now, d.rest, d.sent = a.tat, a.now, a.rest, a.sent
	if d.rules != nil {
		d.now = a.rest[0]
	}
	if last := p.of(c); last != nil && last.now == d.now && last.tat == d.tat && last.rules.same(d.rules) && (d.rules != nil || last.under(&c.Limit)) {
		return // Another call of the same flight was faster.
	}
	d.rate, d.period, d.max = c.Limit.Rate, int64(c.Limit.Period), c.Limit.Max()
	p.is.Store(&d)
	if p.turn.Load() != turn {
		p.is.CompareAndSwap(&d, nil)
	}
}

// forget forgets what is known of a key, after it may have been changed.
func (n *denials) forget(scope, key string) { n.place(n.hash(scope, key)).forget() }

func (p *place) forget() {
	p.turn.Add(1)
	p.is.Store(nil)
}

// charged forgets keys that have been charged, or whose state was changed to that
// of other limits, as what they would be told now is another.
func (n *denials) charged(charges []store.Charge, allowed bool) {
	for i := range charges {
		c := &charges[i]
		p := n.place(n.hash(c.Scope, c.Key))
		if d := p.of(c); d != nil && (allowed || len(charges) > 1 || !d.under(&c.Limit)) {
			p.forget()
		}
	}
}

// failed forgets all, unless a server has answered: it may be another from now on.
func (n *denials) failed(err error) {
	var answered redis.Error
	if !errors.As(err, &answered) {
		n.lost.Add(1)
	}
}

// failedFor is failed for a call that goes by itself, whose caller's leaving says
// nothing of the server.
func (n *denials) failedFor(ctx context.Context, err error) {
	if ctx.Err() == nil {
		n.failed(err)
	}
}

// began is when this process did, more or less.
var began = time.Now()

// elapsed is the clock of the store, which only counts.
func (s *Store) elapsed() time.Duration {
	if s.now != nil {
		return time.Duration(s.now()-startOfTests) * time.Microsecond
	}
	return time.Since(began)
}

// startOfTests keeps a test's clock, in µs, within a time.Duration.
const startOfTests = 946684800_000_000
