package fallback_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// story is a random story of three processes and a key. Its twin, a second key, has the
// same story without faults.
type story struct {
	f         *fleet
	rng       *rand.Rand
	name, key string
	real      []*weir.Limiter
	twin      []*weir.Limiter
	open      [][2]*weir.Reservation
	booked    int64
	text      strings.Builder
	away      bool
	disturbed bool // by the machine
}

// reserve takes units of both keys.
func (s *story) reserve() error {
	cost, i := 1+s.rng.Int64N(40), s.rng.IntN(3)
	if s.booked+cost > 800 {
		return nil
	}
	s.booked += cost
	fmt.Fprintf(&s.text, "%d reserves %d; ", i, cost)
	r, err := s.real[i].ReserveN(context.Background(), s.key, cost)
	if err != nil {
		return err
	}
	twin, err := s.twin[i].ReserveN(context.Background(), "twin of "+s.key, cost)
	if err != nil {
		return err
	}
	s.disturbed = s.disturbed || r.Decision().Degraded != s.away
	s.open = append(s.open, [2]*weir.Reservation{r, twin})
	return nil
}

// correct settles or cancels the n-th open reservation of both keys.
func (s *story) correct(n int) error {
	both := s.open[n]
	s.open = append(s.open[:n:n], s.open[n+1:]...)
	actual := s.rng.Int64N(2*both[0].Cost() + 1)
	fmt.Fprintf(&s.text, "%d of %d are real; ", actual, both[0].Cost())
	s.booked += max(actual-both[0].Cost(), 0)
	for _, r := range both {
		err := r.Settle(context.Background(), actual)
		if actual == 0 {
			err = r.Cancel(context.Background())
		}
		if err != nil && !s.away {
			return err
		}
	}
	return nil
}

func (s *story) reset() error {
	i := s.rng.IntN(3)
	fmt.Fprintf(&s.text, "%d resets; ", i)
	s.open, s.booked = nil, 0
	if err := s.real[i].Reset(context.Background(), s.key); err != nil {
		return err
	}
	return s.twin[i].Reset(context.Background(), "twin of "+s.key)
}

// blip cuts off a call of another key in every process.
func (s *story) blip() {
	s.text.WriteString("a call of each process is cut; ")
	s.f.proxy.Set(redistest.CutMidReply(s.rng.IntN(3)))
	s.f.until("no call fails", func(_ *fallback.Store, d store.Decision) bool { return d.Degraded })
	s.f.proxy.Set(s.f.well)
	s.f.recover()
}

// outage makes every process decide some calls by itself, and settle them before the end.
func (s *story) outage() error {
	s.text.WriteString("Redis goes; ")
	s.f.proxy.Set(redistest.Refuse)
	s.f.notice()
	s.away = true
	before := len(s.open)
	for range s.rng.IntN(4) {
		if err := s.reserve(); err != nil {
			return err
		}
	}
	for len(s.open) > before {
		if err := s.correct(len(s.open) - 1); err != nil {
			return err
		}
	}
	s.away = false
	s.text.WriteString("Redis returns; ")
	s.f.proxy.Set(s.f.well)
	s.f.recover()
	return nil
}

func (s *story) step() error {
	switch n := s.rng.IntN(20); {
	case n < 9:
		return s.reserve()
	case n < 15 && len(s.open) > 0:
		return s.correct(s.rng.IntN(len(s.open)))
	case n == 15:
		return s.reset()
	case n == 16:
		return s.outage()
	case n > 16:
		s.blip()
	}
	return nil
}

// Random stories reserve, settle, cancel and reset, with faults that spare Redis' memory.
// At the end Redis counts as many units as without faults.
func TestCorrectionStories(t *testing.T) {
	t.Parallel()
	const lanes = 8
	server := redistest.Start(t)
	var next, disturbed, wrong, again atomic.Int64
	stories := int64(everywhere(1000, long.Or(300, 83)))
	if long.Race {
		stories = min(stories, 32) // Each story runs the same code.
	}
	limits := every(1000, undisturbed(24*time.Hour))
	lane := func(t *testing.T) {
		f := fleetOver(t, server, 3, 0, fallback.Config{Budget: patient, Probe: 100 * time.Millisecond})
		f.recover()
		plain := &fleet{t: t, admin: f.admin}
		for n := next.Add(1); n <= stories; n = next.Add(1) {
			l := limits[n%int64(len(limits))]
			s := &story{f: f, rng: rand.New(rand.NewPCG(uint64(n), 1)), name: l.Algorithm.String(), key: fmt.Sprint("k", n), real: f.limiters(l.Algorithm.String(), l)}
			for range 3 {
				s.twin = append(s.twin, limiterOver(t, plain.direct(), s.name, l))
			}
			for range 6 + s.rng.IntN(14) {
				if err := s.step(); err != nil {
					t.Fatalf("story %d, %v: %s: %v", n, l.Algorithm, s.text.String(), err)
				}
			}
			s.blip()
			for i := range 3 {
				s.disturbed = s.disturbed || allow(t, s.real[i], s.key).Degraded
				allow(t, s.twin[i], "twin of "+s.key)
			}
			if s.disturbed {
				disturbed.Add(1)
				continue
			}
			got, want := f.used(s.name, s.key, l), f.used(s.name, "twin of "+s.key, l)
			slack := int64(0)
			if l.Algorithm == store.GCRA {
				slack = 1 // The two are asked at different times.
			}
			if got > want+slack || got < want-slack {
				wrong.Add(1)
				again.Add(max(got-want, 0))
				if wrong.Load() <= 5 {
					t.Errorf("story %d, %v: Redis counts %d as used, want %d, as without faults: %s", n, l.Algorithm, got, want, s.text.String())
				}
			}
		}
	}
	t.Run("lanes", func(t *testing.T) {
		for i := range lanes {
			t.Run(fmt.Sprint(i), func(t *testing.T) { t.Parallel(); lane(t) })
		}
	})
	t.Logf("%d stories: %d counted wrong, %d units charged again, %d disturbed by the machine", stories, wrong.Load(), again.Load(), disturbed.Load())
	if wrong.Load() > 0 {
		t.Errorf("%d of %d stories count wrong; %d units are charged again, want none", wrong.Load(), stories, again.Load())
	}
	if disturbed.Load() > stories/2 {
		t.Errorf("%d of %d stories were decided without Redis while it was there", disturbed.Load(), stories)
	}
}
