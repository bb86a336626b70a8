package fallback

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/memory"
)

const (
	alone     = 100 * time.Millisecond // from a single failure to the search
	again     = time.Second            // from a failed search to the next one
	pace      = 1000                   // keys per second restored in the background, at most
	enough    = 16                     // kept keys in a row that end the search for lost ones
	maxTries  = 60                     // failed searches in a row, at most
	maxLosses = 3                      // found by one call, at most
)

// recall sets the times of the primary's last answers for the keys. It leaves out states
// that lapse soon: they may be gone when the call arrives.
func (s *Store) recall(req *store.Request, now time.Time) (owes bool) {
	owes, _ = s.memory.Recall(req.Charges, req.Seen, s.clock.at(now)+s.cfg.Budget.Microseconds())
	return owes
}

// ask asks the primary for a decision. If the primary reports a loss, ask tries again.
func (s *Store) ask(ctx context.Context, req *store.Request) (d store.Decision, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	for range maxLosses {
		if d, err = s.askOnce(ctx, *req); !errors.Is(err, store.ErrLost) {
			break
		}
		s.lost(req)
	}
	return d, err
}

// askOnce asks the primary once. The question carries the states that the primary lacks. A lost
// answer does not hold up their keys: the end of ctx frees them.
func (s *Store) askOnce(ctx context.Context, req store.Request) (d store.Decision, err error) {
	r, err := s.due(ctx, req.Charges)
	if err != nil {
		return d, err
	}
	s.recall(&req, s.clock.read())
	if r != nil {
		req.Restore = r.Memories
		stop := context.AfterFunc(ctx, func() { s.memory.Sent(r, false) })
		defer func() {
			stop()
			s.memory.Sent(r, err == nil)
			for i := 0; refused(err) && i < len(r.Memories); i++ { // The primary would refuse it again.
				s.memory.Forget(r.Memories[i].Scope, r.Memories[i].Key)
			}
		}()
		err = errBudget // in case Take panics
	}
	began := s.clock.read()
	if d, err = s.primary.Take(ctx, req); err == nil {
		s.memory.Learn(req.Charges, req.Seen) // Calls that wait for the restore come later.
		if took, least := int64(s.clock.read().Sub(began)), s.took.Load(); r != nil && (least == 0 || took < least) {
			s.took.Store(took)
		}
	}
	return d, err
}

// due begins to restore the charges' keys that the primary lacks, or returns nil. While one
// call restores a key, other calls for it wait: the primary would admit them on a state that
// lacks units. Then they go, and one of them takes units along that were spent meanwhile.
// A call without time for a round trip after that restores the key too, which counts once.
func (s *Store) due(ctx context.Context, charges []store.Charge) (r *memory.Restore, err error) {
	var timer <-chan time.Time
	var under *memory.Restore
	for waited := false; ; {
		if r, under = s.memory.Due(charges, s.clock.now(), waited, under); under == nil {
			return r, nil
		}
		if _, twice := s.primary.(plain); timer == nil && !twice { // A plain store would charge twice.
			end, _ := ctx.Deadline()
			half, little := s.cfg.patience()/2, s.cfg.Budget/10
			left := time.Until(end) - s.cfg.Budget                 // of its patience: see besides
			trip := max(time.Duration(s.took.Load()), 2*half-left) // The call may be back from one.
			timer = time.After(max(min(half, left-trip-little), little))
		}
		select {
		case <-under.Over:
		case <-timer:
			waited, under = true, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lost notes that the primary has lost the keys of a call. It starts a search, at most once a
// second: a primary that evicts keys loses one after the other. A loss after a quiet minute is
// logged.
func (s *Store) lost(req *store.Request) {
	s.losses.Add(1)
	now := s.clock.read().UnixMicro()
	if last := s.lostAt.Load(); s.memory.Lose(req.Charges, req.Seen, s.clock.now()) && now-last > 1_000_000 && s.lostAt.CompareAndSwap(last, now) {
		if now-last > 60_000_000 {
			s.cfg.Logger.Warn("weir: the primary store has lost states, and gets them again", "limiter", req.Charges[0].Scope)
		}
		s.restoreAll(0)
	}
}

// restoreAll restores keys without calls, in the background and after a delay. A search that
// is under way is followed by another one: it may have passed a key that lacks units since.
func (s *Store) restoreAll(delay time.Duration) {
	if s.searches.Add(1) == 1 {
		time.AfterFunc(delay, s.searchAll)
	}
}

func (s *Store) searchAll() {
	for asked := int32(0); !s.searches.CompareAndSwap(asked, 0); {
		asked = s.searches.Load()
		if s.search() {
			s.tries = 0
		} else if s.tries++; s.tries < maxTries {
			time.AfterFunc(again, s.searchAll) // One slow answer must not end the search for good.
			return
		}
	}
}

// search looks at keys with spent units, and at others until the primary has kept some in a
// row. A look restores the key. search returns false if the primary does not answer.
func (s *Store) search() bool {
	limiter, kept := rate.NewLimiter(pace, 1), 0
	for charges, owes := range s.memory.Lacking(s.clock.now()) {
		if !owes && kept >= enough {
			continue
		}
		if limiter.Wait(context.Background()) != nil || !s.breaker.Closed() {
			return true // The primary's return starts another search.
		}
		losses := s.losses.Load()
		if outage(s.look(charges, s.cfg.patience())) != nil {
			return false
		}
		if kept++; owes || s.losses.Load() > losses {
			kept = 0
		}
	}
	return true
}

// look asks the primary for the state of a key, and so restores it. This process then knows
// all units that the primary may lose.
func (s *Store) look(charges []store.Charge, patience time.Duration) error {
	req := &store.Request{Charges: charges, Seen: make([]store.Seen, len(charges))}
	return within(context.Background(), patience, func(ctx context.Context) error {
		_, err := s.ask(ctx, req)
		return err
	})
}
