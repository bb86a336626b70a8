package flight

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

// New returns Flights without calls.
func New(cfg Config) *Flights {
	fs := &Flights{cfg: cfg, keys: make(map[string]*flight)}
	fs.renew = fs.renewAll
	return fs
}

// Claim is a call's request for a lease.
type Claim struct {
	Key     string
	Arrival uint64 // the call's place among the calls of its key
	Refuse  bool   // it waits for nothing but leases on their way back
	Lease   *Lease // once it is granted

	place place
	id    string    // of the lease it asks for
	since time.Time // when it came
	late  bool      // the store's grant came too late, once
}

// Answer is the store's answer to a claim.
type Answer uint8

const (
	// Refused: the store failed, or something other than the calls in flight refused.
	Refused Answer = iota
	// Granted: the store has the lease.
	Granted
	// Full: too many calls are in flight.
	Full
)

// Try asks the store for a lease with an ID, and for whatever else the call takes. For Full it
// returns how long to wait for room. Perhaps: the store may have the lease even so. Next: the
// store keeps the next free place for that ID.
type Try func(ctx context.Context, id string, next bool) (a Answer, perhaps bool, retryAfter time.Duration)

// ErrMaxWait says that the longest wait is over.
var ErrMaxWait = errors.New("flight: the longest wait is over")

// Ask waits until the claim may ask the store, and asks, until the answer is not
// Full. After a Full answer a claim with Refuse returns it. The claim waits until
// the instant end, then it returns ErrMaxWait; the zero end: for as long as ctx.
//
// A grant that took half of the lease's time is late: perhaps the process stood still,
// and the lease may end before it is renewed. late undoes the rest of the grant, and the
// claim asks anew, once. waits is called each time when the claim waits for its turn.
//
// With ErrMaxWait and Full it returns how long to wait for room.
func (fs *Flights) Ask(ctx context.Context, c *Claim, end time.Time, waits func(), try Try, late func()) (a Answer, retryAfter time.Duration, err error) {
	c.place.arrival, c.id, c.since = c.Arrival, rand.Text(), time.Now()
	f, retryAfter, ok := fs.join(c)
	if !ok {
		return Full, retryAfter, nil
	}
	var over <-chan time.Time
	for {
		if c.place.turn != nil {
			waits()
			if over == nil && !end.IsZero() {
				over = time.After(time.Until(end))
			}
			select {
			case <-c.place.turn:
			case <-ctx.Done():
				fs.leave(f, c)
				return Refused, 0, ctx.Err()
			case <-over:
				return Full, fs.leave(f, c), ErrMaxWait
			}
		}
		a, retryAfter, again := f.ask(ctx, c, try)
		switch {
		case again:
			late()
		case a != Full || c.Refuse:
			return a, retryAfter, nil
		}
	}
}

// join lets a claim ask now, or puts it in line. It reports false for a claim that
// would have to wait for calls to end, and does not.
func (fs *Flights) join(c *Claim) (f *flight, retryAfter time.Duration, ok bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f = fs.flight(c.Key)
	switch {
	case f.line.Len() == 0 && f.mayAsk():
		f.asking++
	case c.Refuse && !f.hasReturning():
		return f, f.retryAfter(), false
	default:
		f.lineUp(&c.place)
	}
	return f, 0, true
}

// leave takes a claim out of the line, and returns how long to wait for room.
func (fs *Flights) leave(f *flight, c *Claim) time.Duration {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if c.place.element == nil {
		f.asking-- // Its turn came just now.
	} else {
		f.line.Remove(c.place.element)
	}
	defer f.advance()
	return f.retryAfter()
}

// ask asks the store once. again: the grant was late, and the claim keeps its turn.
func (f *flight) ask(ctx context.Context, c *Claim, try Try) (a Answer, retryAfter time.Duration, again bool) {
	fs, lease, asked := f.of, &Lease{flight: f, id: c.id}, time.Now()
	perhaps := true // A panic in try leaves no more behind than an error does.
	defer func() {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		if again = a == Granted && !c.late && time.Since(asked) >= fs.cfg.Lease/2; again {
			c.late, c.id = true, rand.Text()
			f.add(lease.id, asked)
			f.release(lease.id)
			return
		}
		f.asking--
		if perhaps {
			c.id, f.failed = rand.Text(), append(f.failed, returned{lease.id, asked, time.Now()})
			f.send()
		}
		switch a {
		case Granted:
			f.add(lease.id, asked)
			c.Lease = lease
			if f.pause = firstPause; f.width < fs.cfg.Max {
				f.width *= 2 // More calls may ask at once.
			}
		case Full:
			f.free, f.width = time.Now().Add(retryAfter), 1
			if !perhaps { // Otherwise the store is away.
				fs.ended.Again(f.key, fs.cfg.Release)
			}
			if !c.Refuse {
				f.lineUp(&c.place)
				f.refused(retryAfter)
			}
		}
		f.advance()
	}()
	a, perhaps, retryAfter = try(ctx, lease.id, !c.Refuse && asked.Sub(c.since) > patience)
	return a, retryAfter, again
}
