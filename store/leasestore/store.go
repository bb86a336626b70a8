package leasestore

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

// Store takes units ahead of the store behind it. It is safe for concurrent use. Without
// Close its units stay unused until they lapse.
type Store struct {
	cfg    Config
	start  time.Time
	seed   maphash.Seed
	shards [64]shard
	closed atomic.Bool
	giving sync.WaitGroup // calls that give units back or have units under way

	heeding sync.Once
	watch   store.Watch // nil before heed, and without brakes
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Preparer = (*Store)(nil)
	_ store.Canceler = (*Store)(nil)
	_ store.Settler  = (*Store)(nil)
	_ store.Resetter = (*Store)(nil)
	_ store.Braker   = (*Store)(nil)
	_ store.Holder   = (*Store)(nil)
)

// New returns a Store, or a *store.ConfigError that names the wrong field. It
// does no I/O.
func New(cfg Config) (*Store, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.defaults()
	return &Store{cfg: cfg, start: time.Now(), seed: maphash.MakeSeed()}, nil
}

// Take implements [store.Store]. A call that takes units ahead lasts as long as one of the
// store behind. Calls for the same key wait for it meanwhile.
func (s *Store) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if s.cfg.Units == 1 || !leasable(&req) || s.closed.Load() {
		return s.cfg.Store.Take(ctx, req)
	}
	if err := ctx.Err(); err != nil {
		return store.Decision{}, err
	}
	if err := req.Validate(); err != nil {
		return store.Decision{}, err
	}
	hash := s.hash(id{req.Charges[0].Scope, req.Charges[0].Key})
	sh := s.shard(hash)
	for {
		var d store.Decision
		next, r, wait := s.use(sh, hash, &req, &d)
		switch next {
		case used:
			return d, nil
		case alone:
			return s.cfg.Store.Take(ctx, req)
		case more:
			return s.refill(ctx, sh, r, &req)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return store.Decision{}, ctx.Err()
		}
	}
}

// leasable reports whether a request may take units ahead: it takes the same cost of all
// limits of one key, now or not at all, without a receipt.
func leasable(req *store.Request) bool {
	if req.MaxWait > 0 || req.Cancelable || len(req.Charges) == 0 || req.Hold.Asked() {
		return false
	}
	first := &req.Charges[0]
	for i := range req.Charges {
		c := &req.Charges[i]
		if c.Cost != first.Cost || c.Reserve != 0 || c.Limit.Algorithm == store.SlidingWindow || c.Key != first.Key || c.Scope != first.Scope {
			return false
		}
	}
	return first.Cost > 0
}

// now returns the time since the store was made.
func (s *Store) now() time.Duration { return time.Since(s.start) }

// Close gives all unused units back, with those of calls under way, and returns after that.
// It tries for 3 s. Units that a silent store does not take back by then lie unused until
// they lapse, and Close returns an error. Later calls go to the store behind unchanged.
func (s *Store) Close() error {
	s.closed.Store(true)
	s.heeding.Do(func() {})
	if s.watch != nil {
		s.watch.Stop()
	}
	var all []unused
	for i := range s.shards {
		all = append(all, s.close(&s.shards[i])...)
	}
	err := s.giveAllBack(all)
	s.giving.Wait()
	return err
}
