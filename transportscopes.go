package weir

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// TransportLimit is one of the limits of a [Transport]. Its fields mean what
// those of the same names in [TransportConfig] do.
type TransportLimit struct {
	// Limiter decides. Required. Its Name is the Scope in errors and events, so
	// give each of a Transport's limiters one.
	Limiter *Limiter
	// Key says what a request counts against. Nil: [KeyHost].
	Key KeyFunc
	// Cost says how many units a request takes. Nil: 1.
	Cost func(*http.Request) (int64, error)
	// SkipNoKey leaves a request uncounted by this limit for which Key finds no
	// identity ([ErrNoKey]). False: it fails with that error.
	SkipNoKey bool
	// Settle says what a request really cost. Nil: what Cost said.
	Settle SettleFunc
}

// scope is a limit of a Transport and where its configuration says so: "" or
// "Within[0].".
type scope struct {
	TransportLimit
	place string
	mixed bool // some of the limits count requests, and others what these cost
}

// scopes returns the configuration's limits, narrowest first.
func (cfg *TransportConfig) scopes() ([]scope, error) {
	scopes := make([]scope, 0, 1+len(cfg.Within))
	scopes = append(scopes, scope{TransportLimit: TransportLimit{cfg.Limiter, cfg.Key, cfg.Cost, cfg.SkipNoKey, cfg.Settle}})
	for i, l := range cfg.Within {
		scopes = append(scopes, scope{TransportLimit: l, place: "Within[" + strconv.Itoa(i) + "]."})
	}
	mixed := false
	for i := range scopes {
		s := &scopes[i]
		switch {
		case s.Limiter == nil:
			return nil, &ConfigError{Field: "TransportConfig." + s.place + "Limiter", Want: "a limiter", Got: "nil"}
		case s.Limiter.store == nil:
			return nil, &ConfigError{Field: "TransportConfig." + s.place + "Limiter", Want: "a limiter made by New", Got: "a zero one"}
		}
		if _, ok := s.Limiter.store.(store.Settler); s.Settle != nil && !ok {
			return nil, &ConfigError{Field: "TransportConfig." + s.place + "Settle", Want: "nil with a store that is no store.Settler", Got: "a function"}
		}
		if s.Key == nil {
			s.Key = KeyHost()
		}
		if s.costs() != scopes[0].costs() {
			mixed = true
		}
	}
	for i := range scopes {
		scopes[i].mixed = mixed
	}
	return scopes, nil
}

// admission is what an attempt was booked on: nothing, when no limit counts it.
type admission struct {
	first   booking
	rest    []booking
	counted bool      // by first
	left    time.Time // zero where that does not matter
}

func (a *admission) each(yield func(*booking) bool) {
	if a.counted && !yield(&a.first) {
		return
	}
	for i := range a.rest {
		if !yield(&a.rest[i]) {
			return
		}
	}
}

// admit returns no error when the request may leave. Unless it is to refuse,
// maxWait bounds all that it waits for; 0: no bound but the context's.
//
// It sets a, which was zero, and is as good as zero with an error.
func (t *Transport) admit(req *http.Request, maxWait time.Duration, refuse bool, a *admission) (err error) {
	if len(t.scopes) > 1 {
		*a, err = t.admitAll(req, maxWait, refuse)
		return err
	}
	a.counted, err = t.scopes[0].read(req, &a.first)
	switch {
	case err != nil:
		return err
	case !a.counted:
		return req.Context().Err()
	}
	return a.first.book(req.Context(), maxWait, refuse, false)
}

// admitAll books the request on one limit after the other, and gives back what
// it has booked when a later one fails.
func (t *Transport) admitAll(req *http.Request, maxWait time.Duration, refuse bool) (admission, error) {
	all := make([]booking, 0, len(t.scopes))
	for i := range t.scopes {
		var b booking
		counted, err := t.scopes[i].read(req, &b)
		if err != nil {
			return admission{}, err
		}
		if counted {
			// The first limiter's own MaxWait is in maxWait.
			if i > 0 && !t.override {
				b.maxWait = b.limiter.maxWait
			}
			all = append(all, b)
		}
	}
	ctx, start, booked := req.Context(), time.Now(), 0
	// Deferred, so that a panic in a store or a hook gives back too.
	defer func() {
		if booked < len(all) {
			giveBackAll(ctx, all[:booked])
		}
	}()
	for i := range all {
		b := &all[i]
		longest := b.maxWait
		if maxWait > 0 {
			longest = shorter(longest, left(maxWait, time.Since(start)))
		}
		if err := b.book(ctx, longest, refuse, true); err != nil {
			return admission{}, err
		}
		booked++
	}
	if len(all) == 0 {
		return admission{}, ctx.Err()
	}
	return admission{first: all[0], rest: all[1:], counted: true}, nil
}

// booking is what an attempt takes of one limit.
type booking struct {
	limiter *Limiter
	key     string
	cost    int64
	maxWait time.Duration // the limiter's own longest wait; 0: none that counts
	grant   grant         // what was taken
	lease   *Lease
	settle  SettleFunc
	costs   bool // it counts what requests cost
	mixed   bool // and another of the Transport's limits counts in the other unit
}

// outgoing returns a request without what only a server sets, which a reverse proxy
// leaves where it is.
func outgoing(req *http.Request) *http.Request {
	if req.RequestURI == "" {
		return req
	}
	out := *req
	out.RequestURI = ""
	return &out
}

// read sets b to what a request takes, or returns false when it is not counted.
func (s *scope) read(req *http.Request, b *booking) (counted bool, err error) {
	key, err := s.Key(outgoing(req))
	if err == nil {
		err = s.Limiter.checkKey(key)
	}
	if err != nil {
		if s.SkipNoKey && errors.Is(err, ErrNoKey) {
			return false, nil
		}
		return false, fmt.Errorf("weir: transport: %skey: %w", s.place, err)
	}
	cost := int64(1)
	if s.Cost != nil {
		if cost, err = s.Cost(req); err != nil {
			return false, fmt.Errorf("weir: transport: %scost: %w", s.place, err)
		}
		if cost < 0 {
			return false, &ConfigError{Field: "TransportConfig." + s.place + "Cost", Want: "a cost of 0 or more", Got: strconv.FormatInt(cost, 10)}
		}
	}
	b.limiter, b.key, b.cost, b.settle = s.Limiter, key, cost, s.Settle
	b.costs, b.mixed = s.costs(), s.mixed
	return true, nil
}

// book takes what b says, when its slot has come or not at all, and a lease where
// the limiter has any. The receipt is for giving it back.
func (b *booking) book(ctx context.Context, maxWait time.Duration, refuse, cancelable bool) (err error) {
	l := b.limiter
	if cancelable = cancelable || b.settle != nil; !cancelable {
		if l.slotNow(ctx, b.key, b.cost, &b.grant) {
			return nil
		}
	}
	if refuse {
		b.grant, b.lease, err = l.tryAcquireSlot(ctx, b.key, b.cost, cancelable)
	} else {
		b.grant, b.lease, err = l.acquireSlot(ctx, b.key, b.cost, maxWait)
	}
	return err
}

// giveBackAll gives back what was booked, the latest first.
func giveBackAll(ctx context.Context, booked []booking) {
	backs := make([]<-chan struct{}, 0, len(booked))
	for i := len(booked) - 1; i >= 0; i-- {
		b := &booked[i]
		b.lease.Release()
		backs = append(backs, b.limiter.lines.HandBack(ctx, line.ID{Key: b.key, Cost: b.cost}, b.grant.receipt))
	}
	line.Linger(backs...)
}

// left returns how much of a longest wait is left. It is never 0, which would
// mean no bound.
func left(maxWait, waited time.Duration) time.Duration {
	return max(1, maxWait-waited)
}

// shorter returns the shorter of two longest waits, of which 0 is no bound.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
