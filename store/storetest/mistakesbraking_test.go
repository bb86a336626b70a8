package storetest_test

import (
	"context"
	"math"
	"time"

	"github.com/goweir/weir/store"
)

// braked is a store with wrong brakes.
type braked struct {
	*model
	spoil func(b *store.Brake)
	clock func(c store.Clock) store.Clock // nil: watchers get no calls
}

func (s *braked) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	s.spoil(&b)
	return s.model.Brake(ctx, charges, b)
}

func (s *braked) WatchBrakes(f func(scope, key string, c store.Clock)) store.Watch {
	return s.model.WatchBrakes(func(scope, key string, c store.Clock) {
		if s.clock != nil {
			f(scope, key, s.clock(c))
		}
	})
}

func (s *braked) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	d, err := s.model.Take(ctx, req)
	if d.Clock != nil && s.clock != nil {
		d.Clock = s.clock(d.Clock)
	}
	return d, err
}

// braking changes every brake.
func braking(spoil func(b *store.Brake)) func(*model) store.Store {
	return func(s *model) store.Store {
		return &braked{s, spoil, func(c store.Clock) store.Clock { return c }}
	}
}

// clocked changes every clock.
func clocked(clock func(c store.Clock) store.Clock) func(*model) store.Store {
	return func(s *model) store.Store { return &braked{s, func(*store.Brake) {}, clock} }
}

// Wrong clocks.
type (
	stays  struct{ store.Clock } // no slot moves
	early  struct{ store.Clock } // slots come a microsecond early
	behind struct{ store.Clock } // slots come an hour late
	counts struct{ store.Clock } // every booking counts
	never  struct{ store.Clock } // no booking counts
)

func (stays) Real(slot store.Instant) store.Instant    { return slot }
func (c early) Real(slot store.Instant) store.Instant  { return c.Clock.Real(slot) - 1 }
func (c behind) Real(slot store.Instant) store.Instant { return c.Clock.Real(slot) + 3_600_000_000 }
func (counts) Counts(any) bool                         { return true }
func (never) Counts(any) bool                          { return false }

// brakeMistakes are about pauses, lower rates and clocks.
var brakeMistakes = []mistake{
	{"a pause does nothing", "pauses", braking(func(b *store.Brake) { b.Pause = 0 })},
	{"the shortest pause counts", "pauses", braking(func(b *store.Brake) { b.Pause = min(b.Pause, time.Second) })},
	{"a pause can't be lifted", "pauses", braking(func(b *store.Brake) { b.Lift = false })},
	{"slack is added to every pause", "pauses", braking(func(b *store.Brake) { b.Pause, b.Slack = b.Pause+b.Slack, 0 })},
	{"slots are granted in a pause", "booked in a pause", braking(func(b *store.Brake) { b.Pause /= 2 })},
	{"a pause forgets the key", "used units and pauses", func(s *model) store.Store {
		return &braked{s, func(*store.Brake) { s.Forget() }, func(c store.Clock) store.Clock { return c }}
	}},
	{"watchers hear nothing", "slots move", clocked(nil)},
	{"slots leave in a pause", "slots move", clocked(func(c store.Clock) store.Clock { return stays{c} })},
	{"slots leave just before the end of a pause", "slots move", clocked(func(c store.Clock) store.Clock { return early{c} })},
	{"slots leave long after a pause", "slots move", clocked(func(c store.Clock) store.Clock { return behind{c} })},
	{"every window counts a moved slot", "stories", clocked(func(c store.Clock) store.Clock { return counts{c} })},
	{"no booking counts after a brake", "slots move", clocked(func(c store.Clock) store.Clock { return never{c} })},
	{"a brake resets the key's slots", "slots of a cut rate", func(s *model) store.Store {
		return &braked{s, func(b *store.Brake) { b.Cut.Since = 0 }, func(c store.Clock) store.Clock { return stays{c} }}
	}},
	{"an advertised pace is forgotten", "an advertised pace", braking(func(b *store.Brake) { b.GapFor = 0 })},
	{"every refusal cuts the rate", "cuts", braking(func(b *store.Brake) {
		if b.Cut.Unit > 0 {
			b.Cut.Since = math.MaxInt64
		}
	})},
	{"no refusal cuts the rate again", "cuts", braking(func(b *store.Brake) { b.Cut.Since = min(b.Cut.Since, 1) })},
	{"the rate never recovers", "a cut rate grows back", braking(func(b *store.Brake) { b.Cut.Recovery *= 100 })},
	{"windows stop in a pause", "windows end in real time", braking(func(b *store.Brake) { b.Pause *= 2 })},
	{"any brake will do", "mistakes in braking", braking(func(b *store.Brake) { *b = store.Brake{} })},
	{"a cancel after a brake gives nothing back", "cancel and brakes", func(s *model) store.Store {
		b := &braked{s, nil, func(c store.Clock) store.Clock { return c }}
		set := false
		b.spoil = func(*store.Brake) { set = true }
		return &cancelled{b, func(ctx context.Context, receipt any) error {
			if set {
				return nil
			}
			return s.Cancel(ctx, receipt)
		}}
	}},
}

// cancelled replaces Cancel.
type cancelled struct {
	*braked
	cancel cancel
}

func (s *cancelled) Cancel(ctx context.Context, receipt any) error { return s.cancel(ctx, receipt) }
