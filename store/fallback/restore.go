package fallback

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/memory"
	"github.com/goweir/weir/store/fallback/internal/plain"
	"golang.org/x/time/rate"
)

// maxLosses is the maximum number of losses that one call may find.
const maxLosses = 3

// recall sets the times of the primary's last answers for the keys. It leaves out states
// that lapse soon: they may be gone when the call arrives.
func (s *Store) recall(req *store.Request, now time.Time) (owes bool) {
	return s.memory.Recall(req.Charges, req.Seen, s.clock.at(now)+s.cfg.Budget.Microseconds())
}

// ask asks the primary for a decision, and passes the states that it lacks along. If the
// primary reports a loss, ask tries again with the states that it lacks now.
func (s *Store) ask(ctx context.Context, of *store.Request, owes bool) (d store.Decision, lost bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	for range maxLosses {
		var list []*memory.Restore
		if owes {
			if list, err = s.carry(ctx, of.Charges); err != nil {
				return d, lost, err
			}
			s.recall(of, time.Now())
		}
		err = s.carrying(ctx, list, func(memories []store.Memory) (err error) {
			req := *of
			req.Restore = memories
			if d, err = s.primary.Take(ctx, req); err == nil {
				s.memory.Learn(of.Charges, of.Seen, s.clock.now()) // Calls that wait for the restore come later.
			}
			return err
		})
		if !errors.Is(err, store.ErrLost) {
			return d, lost, err
		}
		s.lost(of.Charges, of.Seen)
		owes, lost = true, true
	}
	return d, lost, err
}

// carry begins to restore the charges' keys that the primary lacks.
func (s *Store) carry(ctx context.Context, charges []store.Charge) (list []*memory.Restore, err error) {
	for _, i := range inOrder(charges) {
		r, err := s.due(ctx, keys.Of(&charges[i]))
		if err != nil {
			s.sent(list, err)
			return nil, err
		}
		if r != nil {
			list = append(list, r)
		}
	}
	return list, nil
}

// inOrder returns the first charge of each key, in the order of the keys. So no two calls
// wait for each other.
func inOrder(charges []store.Charge) (places []int) {
	for i := range charges {
		if keys.First(charges, i) {
			places = append(places, i)
		}
	}
	slices.SortFunc(places, func(i, j int) int {
		a, b := &charges[i], &charges[j]
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Scope, b.Scope))
	})
	return places
}

// due begins to restore a key, or returns nil. While one call restores a key, other calls
// for it wait: the primary would admit them on a state that lacks units. After a tenth of
// the budget they restore the key as well, as their own round trips may take the rest. The
// primary counts it once.
func (s *Store) due(ctx context.Context, key keys.Key) (*memory.Restore, error) {
	var timer <-chan time.Time
	for waited := false; ; {
		r, under := s.memory.Due(key, s.clock.now(), waited)
		if under == nil {
			return r, nil
		}
		if _, twice := s.primary.(plain.Store); timer == nil && !twice { // A plain store would charge twice.
			timer = time.After(s.cfg.Budget / 10)
		}
		select {
		case <-under.Over:
		case <-timer:
			waited = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// carrying calls f, which passes memories to the primary. A lost answer does not hold the
// keys up: the end of ctx frees them.
func (s *Store) carrying(ctx context.Context, list []*memory.Restore, f func([]store.Memory) error) (err error) {
	if len(list) == 0 {
		return f(nil)
	}
	err = errBudget // in case f panics
	stop := context.AfterFunc(ctx, func() { s.sent(list, errBudget) })
	defer stop()
	defer func() { s.sent(list, err) }()
	var memories []store.Memory
	for _, r := range list {
		memories = append(memories, r.Memories...)
	}
	return f(memories)
}

// sent ends restores, and notes whether the primary knows the memories now.
func (s *Store) sent(list []*memory.Restore, err error) {
	for _, r := range list {
		if s.memory.Sent(r, err == nil); refused(err) {
			s.memory.Forget(r.Scope, r.Key.Key) // The primary would refuse it again.
		}
	}
}

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
	now := s.clock.local(time.Now())
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

// restoreAll restores keys without calls, in the background. A search that is under way is
// followed by another one: it may have passed a key that lacks units since.
func (s *Store) restoreAll() {
	if s.searches.Add(1) > 1 {
		return
	}
	go func() {
		for asked := int32(0); !s.searches.CompareAndSwap(asked, 0); {
			asked = s.searches.Load()
			s.search()
		}
	}()
}

// search looks at keys with spent units, and at others until the primary has kept some in a
// row. A look restores the key.
func (s *Store) search() {
	limiter, spared := rate.NewLimiter(pace, 1), 0
	for charges, owes := range s.memory.Lacking(s.clock.now()) {
		if !owes && spared >= kept {
			continue
		}
		req := &store.Request{Charges: charges, Seen: make([]store.Seen, len(charges))}
		if owes && !s.recall(req, time.Now()) { // Calls have restored it.
			continue
		}
		time.Sleep(limiter.Reserve().Delay())
		err := s.look(req)
		if outage(err) != nil {
			// One slow answer must not end the search for good.
			if s.tries.Add(1) < maxTries {
				s.soon(time.Second)
			}
			return
		}
		if spared++; owes || errors.Is(err, store.ErrLost) {
			spared = 0
		}
	}
	s.tries.Store(0)
}

// look asks the primary for the state of a key, unless the primary is away. So this process
// knows all units that the primary may lose. It returns store.ErrLost if the primary had
// lost the key.
func (s *Store) look(req *store.Request) (err error) {
	if !s.breaker.Closed() {
		return errBudget
	}
	lost, owes := false, s.recall(req, time.Now())
	err = s.within(context.Background(), func(ctx context.Context) (err error) {
		_, lost, err = s.ask(ctx, req, owes)
		return err
	})
	if err == nil && lost {
		return store.ErrLost
	}
	return err
}
