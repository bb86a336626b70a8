package fallback

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/memory"
)

const (
	// pace is the maximum number of keys per second that are restored in the background.
	pace = 1000
	// kept is the number of kept keys in a row that end the search for lost ones.
	kept = 16
	// maxTries is the maximum number of tries of a search in a row.
	maxTries = 60
)

// lost notes that the primary has lost the keys of a call. It starts restoreAll, at most
// once a second: a primary that evicts keys loses one after the other.
func (s *Store) lost(charges []store.Charge, seen []store.Seen) {
	s.memory.Lose(charges, seen)
	now := s.clock.local()
	if last := s.lostAt.Load(); now-last > 1_000_000 && s.lostAt.CompareAndSwap(last, now) {
		s.restoreAll()
	}
}

// soon starts restoreAll after a delay. A call that failed alone may be the last one for
// its key.
func (s *Store) soon(later time.Duration) {
	if s.waits.CompareAndSwap(false, true) {
		time.AfterFunc(later, func() {
			s.waits.Store(false)
			if s.breaker.Closed() {
				s.restoreAll()
			}
		})
	}
}

// restoreAll restores keys without calls, in the background: all keys with spent units,
// and others until the primary has kept several in a row.
func (s *Store) restoreAll() {
	if !s.restoring.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.restoring.Store(false)
		pace, spared := time.NewTicker(time.Second/pace), 0
		defer pace.Stop()
		for key, lost := range s.memory.Lacking(s.clock.now()) {
			if lost > 0 && spared >= kept {
				continue
			}
			r, _ := s.due(context.Background(), key, lost)
			if r == nil { // Calls have restored it.
				continue
			}
			<-pace.C
			err := s.restore(r)
			if outage(err) != nil {
				// One slow answer must not end the search for good.
				if s.tries.Add(1) < maxTries {
					s.soon(time.Second)
				}
				return
			}
			if spared++; errors.Is(err, store.ErrLost) {
				spared = 0
			}
		}
		s.tries.Store(0)
	}()
}

// restore restores a key, unless the primary is away. It returns store.ErrLost if the
// primary had lost the key.
func (s *Store) restore(r *memory.Restore) error {
	list := []*memory.Restore{r}
	if !s.breaker.Closed() {
		s.sent(list, errBudget)
		return errBudget
	}
	return s.within(context.Background(), func(ctx context.Context) error {
		lost := false
		err := s.carrying(ctx, list, func(memories []store.Memory) error {
			for i := range memories {
				was, err := s.primary.Restore(ctx, memories[i])
				if err != nil {
					return err
				}
				lost = lost || was
			}
			return nil
		})
		if err == nil && lost {
			return store.ErrLost
		}
		return err
	})
}
