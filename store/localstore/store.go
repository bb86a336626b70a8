// Package localstore keeps limits in the memory of one process, with the same
// answers as package redisstore: golang.org/x/time/rate for GCRA, code of its
// own for windows. It is for programs of one process, for tests, and for what
// happens while Redis is away.
//
// It runs nothing in the background. A key takes memory until its state has
// lapsed; lapsed keys are dropped while new ones come.
package localstore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"time"

	"github.com/goweir/weir"
)

// DefaultMaxKeys is the MaxKeys of a Config that sets none.
const DefaultMaxKeys = 4 << 20

// ErrFull is returned for a new key when MaxKeys keys are in use. A key in use
// is never dropped to make room, since it would come back with a fresh burst.
var ErrFull = errors.New("localstore: as many keys are in use as may be kept")

// Config is what New makes a Store from. Its zero value is ready to use.
type Config struct {
	// MaxKeys is the most keys kept at once, lapsed ones not counted; within a
	// few percent, as keys are spread over shards. 0: DefaultMaxKeys.
	MaxKeys int
}

// Store keeps limits in memory. It is safe for concurrent use.
type Store struct {
	seed   maphash.Seed
	shards [shards]shard
	start  time.Time
	epoch  int64 // start in ns since the Unix epoch
	most   int   // keys of one shard
}

var (
	_ weir.Store    = (*Store)(nil)
	_ weir.Canceler = (*Store)(nil)
	_ weir.Resetter = (*Store)(nil)
)

// New returns a Store, or a *weir.ConfigError that names the wrong field. Its
// clock is the process's monotonic one, set by the wall clock now.
func New(cfg Config) (*Store, error) {
	if cfg.MaxKeys < 0 {
		return nil, &weir.ConfigError{Field: "localstore.Config.MaxKeys", Want: "0 or more", Got: strconv.Itoa(cfg.MaxKeys)}
	}
	if cfg.MaxKeys == 0 {
		cfg.MaxKeys = DefaultMaxKeys
	}
	now := time.Now()
	s := &Store{seed: maphash.MakeSeed(), start: now, epoch: now.UnixNano(), most: (cfg.MaxKeys + shards - 1) / shards}
	for i := range s.shards {
		s.shards[i].keys = make(map[id]*entry)
	}
	return s, nil
}

// now returns the time in whole microseconds since the Unix epoch.
func (s *Store) now() int64 { return (s.epoch + int64(time.Since(s.start))) / 1000 }

// Take implements [weir.Store].
func (s *Store) Take(ctx context.Context, req weir.Request) (weir.Decision, error) {
	if err := ctx.Err(); err != nil {
		return weir.Decision{}, err
	}
	if err := req.Validate(); err != nil {
		return weir.Decision{}, err
	}
	c := &req.Charges[0]
	for i := 1; i < len(req.Charges); i++ {
		if req.Charges[i].Key != c.Key || req.Charges[i].Scope != c.Scope {
			return s.takeMany(&req)
		}
	}
	sh := s.shard(id{c.Scope, c.Key})
	sh.Lock()
	defer sh.Unlock()
	b := booking{req: &req, now: s.now(), groups: 1}
	e, err := sh.open(id{c.Scope, c.Key}, b.now, s.most)
	if err != nil {
		return weir.Decision{}, err
	}
	b.one = group{entry: e}
	return b.decide(s), nil
}

// takeMany is Take for charges of several keys.
func (s *Store) takeMany(req *weir.Request) (weir.Decision, error) {
	var locked []int
	for i := range req.Charges {
		locked = append(locked, s.index(id{req.Charges[i].Scope, req.Charges[i].Key}))
	}
	// In order, so that two requests can't wait for each other.
	slices.Sort(locked)
	locked = slices.Compact(locked)
	for _, i := range locked {
		s.shards[i].Lock()
		defer s.shards[i].Unlock()
	}
	b := booking{req: req, now: s.now()}
	for i := range req.Charges {
		k := id{req.Charges[i].Scope, req.Charges[i].Key}
		if slices.ContainsFunc(b.many, func(g group) bool { return g.entry.id == k }) {
			continue
		}
		e, err := s.shard(k).open(k, b.now, s.most)
		if err != nil {
			return weir.Decision{}, err
		}
		b.many = append(b.many, group{entry: e, first: i})
	}
	b.groups = len(b.many)
	return b.decide(s), nil
}

// Reset implements [weir.Resetter].
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k := id{scope, key}
	sh := s.shard(k)
	sh.Lock()
	defer sh.Unlock()
	delete(sh.keys, k)
	return nil
}

// Keys returns how many keys are kept, lapsed ones included that nothing has
// dropped yet.
func (s *Store) Keys() int {
	n := 0
	for i := range s.shards {
		s.shards[i].Lock()
		n += len(s.shards[i].keys)
		s.shards[i].Unlock()
	}
	return n
}

// Cancel implements [weir.Canceler]. When nobody was charged on the key since,
// its state is put back as it was. Otherwise windows take the units out of
// their counts or log, and GCRA takes them back as far as that admits nothing
// too much: not beyond a moment at which the bucket was full anyway.
func (s *Store) Cancel(ctx context.Context, of any) error {
	r, ok := of.(*receipt)
	if !ok || r == nil {
		return fmt.Errorf("localstore: cancel: a receipt of type %T is not of this store", of)
	}
	for i := range r.keys {
		r.keys[i].cancel(s, r.slot)
	}
	return nil
}
