package localstore

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// Brake implements [store.Braker].
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := (store.Request{Charges: charges}).Validate(); err != nil {
		return err
	}
	if err := b.Validate(); err != nil {
		return err
	}
	if !oneKey(charges) {
		return &store.ConfigError{Field: "charges", Want: "charges of one key", Got: strconv.Itoa(len(groupsOf(charges))) + " keys"}
	}
	at, void, err := s.brake(charges, &b)
	if void {
		s.watchers.Tell(charges[0].Scope, charges[0].Key, at)
	}
	return err
}

func (s *Store) brake(charges []store.Charge, b *store.Brake) (at store.Instant, void bool, err error) {
	k, p := idOf(&charges[0]), places{n: len(charges)}
	sh := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	e := s.entry(sh, k)
	if e == nil {
		if b.Lift {
			return 0, false, nil
		}
		s.sweep(sh, now, newLooks)
		if !s.makeRoom(1, now) {
			return 0, false, ErrFull
		}
		e = &entry{id: k}
		e.states, _ = match(e.one[:0], nil, charges, p, now)
		sh.add(e)
	}
	if !e.held(now) {
		e.brake = new(braking)
	}
	was, fits := e.brake.Until, e.fits(charges, p)
	if was <= now {
		e.brake.still = nil
	}
	if _, void = e.brake.Apply(b, now); void && fits {
		e.void(now, was)
		if e.brake.still == nil || was <= now+exact.VoidFrom {
			e.stand(now)
		}
	}
	if e.brake.Lapse() <= now {
		e.brake = nil
	}
	e.settle()
	return store.Instant(now), void, nil
}

// void frees the slots booked ahead, where was is when the pause so far ends. Those
// that come at once count as used, since whoever has one may be gone before hearing
// of it. In a pause none does.
func (e *entry) void(now, was int64) {
	if e.line.last <= now {
		return
	}
	e.brake.Void(e.line.last, now)
	// Those who book again come from then on, in their order, which they would not
	// if one of them was let in at once.
	e.line.last = now + exact.VoidFrom
	defer e.ahead.forget()
	if e.brake.still != nil && was > now+exact.VoidFrom {
		e.resume(now)
		return
	}
	now += exact.VoidFrom
	narrow := e.narrowest()
	for i := range e.states {
		e.states[i].void(now, func(before int64) int64 {
			if i == narrow {
				return 0
			}
			return e.ahead.units(i, now, before)
		})
	}
}

// narrowest returns which limit is the first to be as if never used. It gives back
// only what goes beyond it, so that callers come at its pace after a pause, and not
// as a herd.
func (e *entry) narrowest() (narrow int) {
	least := int64(math.MaxInt64)
	for i := range e.states {
		takes := e.states[i].limit.Period.Microseconds()
		if g, ok := e.states[i].counting.(*gcra); ok {
			takes = g.Full.Whole
		}
		if takes < least {
			narrow, least = i, takes
		}
	}
	return narrow
}

// held reports whether a brake is set.
func (e *entry) held(now int64) bool { return e.brake != nil && e.brake.Lapse() > now }

// keepBack notes what the brake of a group's key asks of a decision, and returns
// from when on it admits.
func (b *booking) keepBack(group int) int64 {
	e := b.groups[group].entry
	if !e.held(b.now) {
		return b.now
	}
	from := e.brake.From(b.now)
	b.verdict.Braked, b.verdict.Brakes[group] = true, exact.Braked{At: e.brake.At, Paused: e.brake.Until, From: from}
	return from
}

// space notes how far apart units are from the decision's slot on.
func (b *booking) space(group int) {
	if e := b.groups[group].entry; e.held(b.now) {
		k := &b.verdict.Brakes[group]
		k.Gap, k.Told = e.brake.Spacing(b.verdict.Slot), e.brake.ToldGap(b.verdict.Slot)
	}
}

// watch is one of those who are told of brakes. Nothing is missed in a process.
type watch struct {
	store *Store
	id    int
}

// WatchBrakes implements [store.Braker].
func (s *Store) WatchBrakes(f func(scope, key string, at store.Instant)) store.Watch {
	return &watch{s, s.watchers.Add(f)}
}

// Covers implements [store.Watch].
func (w *watch) Covers(time.Time) bool { return true }

// Stop implements [store.Watch].
func (w *watch) Stop() { w.store.watchers.Remove(w.id) }
