package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// losses: callers with memories take, settle and cancel, and restore lost units. The key
// counts the units known to callers, and the units since. The count is exact unless units
// were given back or the bucket was full since the loss. It is never too low.
func losses(r *run) {
	exact := 0
	for seed := range long.Or(60, 12) {
		rng := rand.New(rand.NewPCG(uint64(seed), 61))
		l := []store.Limit{store.Per(7, 3*time.Second), store.Per(20, 10*time.Second)}[rng.IntN(2)].By(store.Algorithm(seed % 5))
		s := &lossStory{run: r, rng: rng, limit: l, corrects: rng.IntN(3) == 0, name: fmt.Sprint("loss ", seed), callers: make([]memory, 2+rng.IntN(4))}
		for s.lose(); len(s.acts) < 60 && !r.Failed(); s.step() {
		}
		s.compare()
		exact += s.compared
	}
	r.Logf("%d states were exact", exact)
}

// memory is the memory of a caller, and of the model.
type memory struct {
	store.Memory
	worlds worlds
	exact  bool
	vague  bool
}

// lossStory is one story on one key, which gets another name after each loss.
type lossStory struct {
	*run
	rng       *rand.Rand
	limit     store.Limit
	corrects  bool // units are given back
	name      string
	key       string
	acts      []act
	callers   []memory
	booked    []lossBooking // since the loss
	worlds    worlds
	corrected set
	since     set   // taken since the loss or reset
	born      int64 // when the key was first written after the loss; 0: never
	lapsed    int64 // when the key last lapsed, and may have been forgotten
	reset     bool
	exact     bool
	vague     bool // a fixed window with an unknown start
	idle      bool // the bucket was full since its birth
	losses    int
	compared  int
}

type lossBooking struct {
	place, reset int
	d            store.Decision
}

// lose begins with an empty server.
func (s *lossStory) lose() {
	s.losses++
	s.key = fmt.Sprint(s.name, ", server ", s.losses)
	s.booked, s.worlds, s.since, s.born = nil, worlds{0}, 0, 0
	s.reset, s.exact, s.vague, s.idle, s.lapsed = false, true, false, false, 0
	s.sleep(time.Microsecond)
}

// step compares, and makes one event happen.
func (s *lossStory) step() {
	before := s.compare()
	switch n := s.rng.IntN(40); {
	case n < 14:
		s.sleep(time.Duration(s.rng.Int64N(s.limit.Period.Microseconds()/2/s.limit.Rate)) * time.Microsecond)
	case n < 16:
		s.sleep(time.Duration(s.rng.Int64N(s.limit.Period.Microseconds())) * time.Microsecond)
	case n < 32:
		s.take(&s.callers[s.rng.IntN(len(s.callers))], before)
	case n < 36 && s.corrects && len(s.booked) > 0:
		s.correct(before)
	case n < 37:
		s.forget(int64(before.At))
	case n < 39:
		s.lose()
	default:
		s.callers[s.rng.IntN(len(s.callers))] = memory{} // A process starts anew.
	}
}

// take takes units for a caller, and restores lost units before.
func (s *lossStory) take(c *memory, before store.Decision) {
	now := int64(before.At)
	req := charge(s.key, 1+s.rng.Int64N(3), s.limit)
	req.Cancelable = s.corrects && s.rng.IntN(2) == 0
	req.Seen = []store.Seen{{At: c.At}}
	d, err := s.store.Take(context.Background(), req)
	isLost := c.At > 0 && !s.reset && (s.born == 0 || s.born > int64(c.At)) && now > int64(c.At)
	if err == nil && !d.Allowed && req.Seen[0].At == c.At {
		return // Refused without the backend.
	}
	lapsed := before.ResetAfter == 0 || int64(c.At) < s.lapsed
	if lapsed && !isLost && errors.Is(err, store.ErrLost) {
		*c = memory{} // The store forgets lapsed units, and so does the caller.
		return
	}
	if errors.Is(err, store.ErrLost) != isLost {
		s.Errorf("%s: %v, seen at %d, born at %d: %+v, %v", s.key, s.limit.Algorithm, c.At, s.born, d, err)
	}
	if isLost {
		s.restores(c, before)
		if s.rng.IntN(3) == 0 {
			return // Other callers restore first.
		}
		before = s.look(s.key, s.limit)
		req.Seen[0].At = 0
		d, err = s.store.Take(context.Background(), req)
	} else if c.At > 0 && !lapsed && s.rng.IntN(4) == 0 {
		s.run.restore(of(c.Memory, s.key), false)
	}
	if err != nil {
		s.Fatalf("%s: %v", s.key, err)
	}
	if d.Allowed {
		if s.born == 0 {
			s.born = now
		} else if before.ResetAfter == 0 && now > s.born {
			s.idle, s.lapsed = true, now
		}
		if d.Receipt != nil {
			s.booked = append(s.booked, lossBooking{len(s.acts), s.losses, d})
		}
		s.since |= 1 << len(s.acts)
		s.acts = append(s.acts, act{now, req.Charges[0].Cost})
		s.worlds = s.worlds.plus(s.since)
	}
	if seen := req.Seen[0]; int64(seen.At) == now {
		*c = memory{store.Memory{Limits: []store.Limit{s.limit}, At: seen.At, Known: []store.Used{seen.Used}}, s.worlds, s.exact, s.vague}
	}
}

// restores restores the memory of a caller.
func (s *lossStory) restores(c *memory, before store.Decision) {
	now, p := int64(before.At), s.limit.Period.Microseconds()
	s.run.restore(of(c.Memory, s.key), true)
	if s.born == 0 {
		s.born = now
	}
	fixed := s.limit.Algorithm == store.FixedWindow
	if at := int64(c.Known[0].At); fixed && at+p <= now || s.limit.Algorithm == store.GCRA && at < now {
		return // The memory has lapsed.
	}
	s.worlds = s.worlds.and(c.worlds.plus(s.since))
	s.exact = s.exact && c.exact && !s.idle && len(s.worlds) == 1 && s.worlds[0]&s.corrected == 0 && (before.ResetAfter > 0 || s.since == 0)
	over := s.worlds.over(s.limit, s.acts, now) // The rest is forgotten.
	s.vague = s.vague || c.vague || over || fixed && (len(s.worlds) > 1 || s.worlds[0]&s.corrected != 0)
}

// correct settles or cancels a booking, sometimes one from before a reset.
func (s *lossStory) correct(before store.Decision) {
	i := s.rng.IntN(len(s.booked))
	b := s.booked[i]
	s.booked = append(s.booked[:i], s.booked[i+1:]...)
	if !s.since.has(b.place) {
		s.cancel(b.d)
		s.alike("cancelled after a reset", s.look(s.key, s.limit), before, []store.Limit{s.limit})
		return
	}
	to := s.rng.Int64N(s.acts[b.place].cost + 1)
	s.settle(b.d, to)
	s.exact = s.exact && to == s.acts[b.place].cost
	s.vague = s.vague || s.limit.Algorithm == store.FixedWindow
	s.corrected |= 1 << b.place // Some memories have other costs.
	s.acts[b.place].cost = to
}

// forget resets the key. Earlier memories bring nothing back.
func (s *lossStory) forget(now int64) {
	s.run.reset(s.key)
	s.worlds, s.since, s.born = worlds{0}, 0, now
	s.reset, s.exact, s.vague, s.idle = true, true, false, false
}

// compare compares the key with the model, and returns the key's state.
func (s *lossStory) compare() store.Decision {
	d := s.look(s.key, s.limit)
	want, is := s.worlds.usage(s.limit, s.acts, int64(d.At)), s.limit.Rate-d.Remaining
	if s.limit.Algorithm == store.GCRA {
		is = d.ResetAfter.Microseconds()
	} else {
		want = min(want, s.limit.Rate)
	}
	exact := s.exact && !s.vague && s.limit.Algorithm != store.SlidingWindow
	if exact {
		s.compared++
	}
	if !s.vague && (is < want || exact && is > want) || is > s.limit.Period.Microseconds() {
		s.Errorf("%s, %v %v: %d used, want %d, exactly: %t; %d worlds, %d calls", s.key, s.limit.Algorithm, s.limit, is, want, exact, len(s.worlds), len(s.acts))
	}
	return d
}
