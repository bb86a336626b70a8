package weir

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/goweir/weir/internal/heed"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// TransportLevel is one of the levels of a [Transport]: a limiter, and a request's
// part of it. Its fields mean the same as in [TransportConfig].
type TransportLevel struct {
	// Limiter decides. Required. Its Name is the Scope in errors and events, so each
	// of a Transport's limiters needs its own.
	Limiter *Limiter
	// Key returns the key that a request counts against. Required.
	Key KeyFunc
	// Cost returns the number of units that a request takes. Nil: 1.
	Cost func(*http.Request) (int64, error)
	// SkipNoKey: a request without a key ([ErrNoKey]) is not counted by this level.
	// False: it fails with that error.
	SkipNoKey bool
	// Settle returns the real cost. Nil: the estimate of Cost stands.
	Settle SettleFunc
}

// SettleFunc returns the real cost of a request (see [TransportConfig]). It is
// called when the response has arrived, with end nil. If the cost is not known
// then, it is called once more when the body has ended.
type SettleFunc func(resp *http.Response, end *BodyEnd) (cost int64, known bool)

// BodyEnd describes a response's body that was read to its end or closed. The
// response's Trailer is set when it was read to its end.
type BodyEnd struct {
	Bytes int64  // the number of bytes read
	Head  []byte // the first bytes, up to 4 KiB; valid during the call
	Tail  []byte // the last bytes, up to 4 KiB; valid during the call
	Whole bool   // the body was read to its end
}

// transportLevel is a TransportLevel that was checked.
type transportLevel struct {
	TransportLevel
	place   string        // in the configuration: "" or "Levels[0]."
	maxWait time.Duration // of its own wait; 0: no bound but the request's
	heeds   heed.Level
	keys    *heed.Memory
}

// transportLevels returns the checked levels, narrowest first, and the unit that they
// count in; heed.Any when they differ. ownWaits: the wait for each level is bounded by the
// MaxWait of its limiter.
func transportLevels(first TransportLevel, wider []TransportLevel, ownWaits bool) (levels []transportLevel, unit heed.Unit, err error) {
	levels = make([]transportLevel, 1+len(wider))
	levels[0].TransportLevel = first
	for i, v := range wider {
		levels[i+1] = transportLevel{TransportLevel: v, place: "Levels[" + strconv.Itoa(i) + "]."}
	}
	for i := range levels {
		v := &levels[i]
		if err := v.check(levels[:i]); err != nil {
			return nil, 0, err
		}
		if i > 0 && ownWaits {
			v.maxWait = v.Limiter.maxWait // The first limiter's bounds all waits together.
		}
		v.heeds = heed.Level{Name: v.Limiter.name, Limits: v.Limiter.rules, MaxPause: v.Limiter.maxPause, Unit: heed.Requests}
		if v.Cost != nil || v.Settle != nil {
			v.heeds.Unit = heed.Costs
		}
		v.keys = new(heed.Memory)
	}
	unit = levels[0].heeds.Unit
	if slices.ContainsFunc(levels, func(v transportLevel) bool { return v.heeds.Unit != unit }) {
		return levels, heed.Any, nil
	}
	for i := range levels {
		levels[i].heeds.Unit = heed.Any
	}
	return levels, unit, nil
}

// check reports the first wrong field. Two levels with one Limiter would charge a key
// twice. GCRA limits without a Burst, such as [Per] returns, would let nearly two periods'
// units leave in one period.
func (v *transportLevel) check(narrower []transportLevel) error {
	if got := v.Limiter.unmade(); got != "" {
		return v.wrong("Limiter", "a limiter made by New", got)
	}
	_, settles := v.Limiter.store.(store.Settler)
	switch {
	case slices.ContainsFunc(narrower, func(n transportLevel) bool { return n.Limiter == v.Limiter }):
		return v.wrong("Limiter", "a limiter that no narrower level has", strconv.Quote(v.Limiter.name)+" again")
	case v.Settle != nil && !settles:
		return v.wrong("Settle", "nil with a store that is no store.Settler", "a function")
	case v.Key == nil:
		return v.wrong("Key", "a function that says who shares the limit: "+
			`KeyHost(), KeyJoin(KeyHost(), KeyAPIKey("Authorization", nil)), KeyJoin(KeyHost(), a function that names the endpoint), or KeyStatic("api")`, "nil")
	}
	for i, l := range v.Limiter.rules {
		if l.Algorithm == store.GCRA && l.Burst == 0 {
			return v.wrong("Limiter",
				fmt.Sprintf("Outbound(%d, %v) for a provider that allows %[1]d per %[2]v, or WithBurst(n) for its token bucket of n", l.Rate, l.Period),
				fmt.Sprintf("%s by GCRA without a Burst, which lets up to %d leave in %v and has no margin", v.Limiter.limits[i], 2*l.Rate-1, l.Period))
		}
	}
	return nil
}

func (v *transportLevel) wrong(field, want, got string) error {
	return &store.ConfigError{Field: "TransportConfig." + v.place + field, Want: want, Got: got}
}

// booking is a request's slot on one level.
type booking struct {
	*transportLevel
	line.ID
	shard   *heed.Shard // of the level's keys
	grant   grant
	settled bool // its real cost is known
}

// admit books the request on all levels that count it, and waits for the slots: on
// the narrowest first. It appends the bookings to none. maxWait bounds the waits
// together; 0: the request's context alone does. With refuse it waits for nothing.
func admit(levels []transportLevel, req *http.Request, maxWait time.Duration, refuse bool, none []booking) ([]booking, error) {
	booked := none
	for i := range levels {
		id, counted, err := levels[i].read(req)
		if err != nil {
			return nil, err
		}
		if counted {
			booked = append(booked, booking{transportLevel: &levels[i], ID: id, shard: levels[i].keys.Shard(id.Key)})
		}
	}
	ctx := req.Context()
	switch len(booked) {
	case 0:
		return nil, ctx.Err()
	case 1:
		return booked, booked[0].book(ctx, shorter(booked[0].maxWait, maxWait), refuse, booked[0].Settle != nil)
	}
	start := time.Now()
	book := func(i int) error {
		b := &booked[i]
		longest := b.maxWait
		if maxWait > 0 {
			longest = shorter(longest, max(1, maxWait-time.Since(start)))
		}
		err := b.book(ctx, longest, refuse, true)
		if e, ok := errors.AsType[*LimitedError](err); ok && e.MaxWait > 0 && longest != b.maxWait {
			e.MaxWait = maxWait // not the rest of it
		}
		return err
	}
	giveBack := func(i int) <-chan struct{} {
		b := &booked[i]
		b.grant.lease.Release()
		return b.Limiter.lines.HandBack(ctx, b.ID, b.grant.receipt)
	}
	return booked, line.InOrder(ctx, len(booked), book, giveBack, nil)
}

// read returns the key and cost of a request, or false when it is not counted.
func (v *transportLevel) read(req *http.Request) (id line.ID, counted bool, err error) {
	outgoing := req
	if req.RequestURI != "" { // A reverse proxy leaves it in, but only a server sets that.
		shallow := *req
		shallow.RequestURI = ""
		outgoing = &shallow
	}
	key, err := v.Key(outgoing)
	if err == nil {
		err = v.Limiter.checkKey(key)
	}
	if err != nil {
		if v.SkipNoKey && errors.Is(err, ErrNoKey) {
			return id, false, nil
		}
		return id, false, fmt.Errorf("weir: transport: %skey: %w", v.place, err)
	}
	id = line.ID{Key: key, Cost: 1}
	if v.Cost == nil {
		return id, true, nil
	}
	if id.Cost, err = v.Cost(req); err != nil {
		return id, false, fmt.Errorf("weir: transport: %scost: %w", v.place, err)
	}
	if id.Cost < 0 {
		return id, false, v.wrong("Cost", "a cost of 0 or more", strconv.FormatInt(id.Cost, 10))
	}
	return id, true, v.Limiter.checkFit(req.Context(), id, true)
}

// book takes the booking's slot when it has come, or fails. With InFlight it takes a lease
// too. A cancelable slot can be given back or settled.
func (b *booking) book(ctx context.Context, maxWait time.Duration, refuse, cancelable bool) (err error) {
	l := b.Limiter
	if !cancelable && l.slotNow(ctx, b.ID, &b.grant) {
		return nil
	}
	if refuse {
		b.grant, err = l.takeSlot(ctx, b.ID, cancelable)
	} else {
		b.grant, err = l.waitSlot(ctx, b.ID, maxWait, true)
	}
	return err
}

// shorter returns the shorter of two longest waits; 0 is no bound.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
