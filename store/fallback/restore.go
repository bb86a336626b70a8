package fallback

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
	"golang.org/x/time/rate"
)

const (
	// pace is the maximum number of keys per second that are restored in the background.
	pace = 1000
	// kept is the number of kept keys in a row that end the search for lost ones.
	kept = 16
	// maxTries is the maximum number of tries of a search in a row.
	maxTries = 60
)

// carried is a memory on its way to the primary.
type carried struct {
	id
	memory  store.Memory
	spent   *spending // nil: nothing
	version int       // of spent
	sending *sending
}

// sending is a restore under way. Other calls of the key wait for its end.
type sending struct {
	over chan struct{} // closed at its end
	once sync.Once
}

func (s *sending) end() { s.once.Do(func() { close(s.over) }) }

// carry returns the memories of the charges' keys that the primary lacks. While one call
// restores a key, other calls for it wait: the primary would admit them on a state that
// lacks units. After a tenth of the budget they restore the key as well, as their own
// round trips may take the rest. The primary counts it once. seen are the lost states, or
// nil.
func (s *Store) carry(ctx context.Context, charges []store.Charge, seen []store.Seen) (list []carried, err error) {
	for _, first := range inOrder(charges) {
		c, lost, waited := &charges[first], int64(0), false
		var timer <-chan time.Time
		if seen != nil {
			lost = int64(seen[first].At)
		}
		for {
			due, sending := s.memory.due(id{c.Scope, c.Key}, lost, s.clock.now(), waited)
			list = append(list, due...)
			if sending == nil {
				break
			}
			if _, plain := s.primary.(plain); timer == nil && !plain { // A plain store would charge twice.
				timer = time.After(s.cfg.Budget / 10)
			}
			select {
			case <-sending.over:
			case <-timer:
				waited = true
			case <-ctx.Done():
				s.sent(list, ctx.Err())
				return nil, ctx.Err()
			}
		}
	}
	return list, nil
}

// inOrder returns the first charge of each key, in the order of the keys. So no two calls
// wait for each other.
func inOrder(charges []store.Charge) (places []int) {
	for first := range charges {
		if group(charges, first) != nil {
			places = append(places, first)
		}
	}
	slices.SortFunc(places, func(i, j int) int {
		a, b := &charges[i], &charges[j]
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Scope, b.Scope))
	})
	return places
}

// telling calls f, which passes memories to the primary. A lost answer does not hold the
// keys up: the end of ctx frees them.
func (s *Store) telling(ctx context.Context, list []carried, f func([]store.Memory) error) (err error) {
	if len(list) == 0 {
		return f(nil)
	}
	err = errBudget // in case f panics
	stop := context.AfterFunc(ctx, func() { s.sent(list, errBudget) })
	defer stop()
	defer func() { s.sent(list, err) }()
	memories := make([]store.Memory, len(list))
	for i := range list {
		memories[i] = list[i].memory
	}
	return f(memories)
}

// sent notes whether the primary knows the memories now.
func (s *Store) sent(list []carried, err error) {
	known := err == nil || refused(err) // The primary would refuse every process's memory.
	for i := range list {
		s.memory.sent(&list[i], known, s.clock.now())
	}
}

// due returns the memories of a key that the primary lacks, or the restore of another
// call. A call that has waited gets the memories at once. lost is the time of the lost
// answer, or 0.
func (t *memory) due(k id, lost, now int64, waited bool) (list []carried, under *sending) {
	sh, h := t.lock(k.scope, k.key)
	defer sh.mu.Unlock()
	e := t.find(sh, h, k.scope, k.key)
	switch {
	case e == nil:
	case e.more != nil && e.more.sending != nil && !waited:
		return nil, e.more.sending
	case e.more != nil && e.more.sending != nil || e.owes() || e.lost() || lost > 0 && e.at == lost:
		list = e.carry(k, t.id, now)
	}
	return list, nil
}

// sent notes whether the primary knows a memory now.
func (t *memory) sent(c *carried, known bool, now int64) {
	c.sending.end()
	sh, h := t.lock(c.scope, c.key)
	defer sh.mu.Unlock()
	e := t.find(sh, h, c.scope, c.key)
	if e == nil || e.more == nil { // A Reset has forgotten it.
		return
	}
	if e.more.sending == c.sending {
		e.more.sending = nil
	}
	if known && e.at > 0 {
		e.at = max(e.at, now)
	}
	if known && c.spent != nil {
		e.more.paid(c.spent, c.version)
	}
}

// lost notes that the primary has lost the keys of a call. It starts restoreAll, at most
// once a second: a primary that evicts keys loses one after the other.
func (s *Store) lost(a *attempt) {
	s.memory.lose(a.req.Charges, a.req.Seen)
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
			if s.breaker.isClosed() {
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
		limiter, since, spared := rate.NewLimiter(pace, 1), s.clock.now(), 0
		for k := range s.memory.waiting(since) {
			if k.lost > 0 && spared >= kept {
				continue
			}
			if !s.restoreOne(k, limiter, &spared) {
				// One slow answer must not end the search for good.
				if s.tries.Add(1) < maxTries {
					s.soon(time.Second)
				}
				return
			}
		}
		s.tries.Store(0)
	}()
}

// restoreOne restores a key, and reports whether it did.
func (s *Store) restoreOne(k name, limiter *rate.Limiter, spared *int) bool {
	for range 2 {
		due, sending := s.memory.due(k.id, k.lost, s.clock.now(), false)
		if due == nil {
			if sending == nil {
				return true
			}
			<-sending.over
			continue
		}
		time.Sleep(limiter.Reserve().Delay())
		if !s.breaker.isClosed() {
			s.sent(due, errBudget)
			return false
		}
		var lost atomic.Bool
		err := s.within(context.Background(), func(ctx context.Context) error {
			return s.telling(ctx, due, func(memories []store.Memory) error {
				for i := range memories {
					was, err := s.primary.Restore(ctx, memories[i])
					if err != nil {
						return err
					}
					lost.Store(lost.Load() || was)
				}
				return nil
			})
		})
		if *spared++; lost.Load() {
			*spared = 0
		}
		return !outage(err)
	}
	return false
}

// name is a key that the primary may lack.
type name struct {
	id
	lost int64 // the time of the answer that may be lost; 0: the key has spent units
}

// waiting returns the keys that the primary may lack, shard by shard: keys with spent
// units, and keys without an answer since an instant. Long keys wait for a call, as their
// text is not stored.
func (t *memory) waiting(since int64) iter.Seq[name] {
	return func(yield func(name) bool) {
		var list []name
		for i := range t.shards {
			sh := &t.shards[i]
			list = list[:0]
			sh.mu.Lock()
			for _, e := range sh.entries {
				switch {
				case hashed(e.key):
				case e.owes():
					list = append(list, name{id{e.limits.scope, e.key}, 0})
				case e.at < since && e.live(since):
					list = append(list, name{id{e.limits.scope, e.key}, e.at})
				}
			}
			sh.mu.Unlock()
			for _, k := range list {
				if !yield(k) {
					return
				}
			}
		}
	}
}
