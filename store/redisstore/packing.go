package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// packing says whether one script call may have keys that share no slot: only
// where there is but one server. It takes a *redis.Client for such, when that has
// shown that it does not speak with one of several behind a proxy, which takes
// the first key to say which.
type packing struct {
	state atomic.Int32
	mu    sync.Mutex
	next  time.Time // when to try again
}

// probeAgain is how long after a probe without an answer the next one is sent.
const probeAgain = time.Second

// States of packing.
const (
	unknown = iota
	together
	apart
)

func (p *packing) of(client redis.UniversalClient) {
	if _, ok := client.(*redis.Client); !ok {
		p.state.Store(apart)
	}
}

// refused reports whether a server has refused, before it did anything, a script
// call for having several keys.
func (p *packing) refused(err error) bool {
	for _, prefix := range []string{"CROSSSLOT", "MOVED", "ASK"} {
		if redis.HasErrorPrefix(err, prefix) {
			p.state.Store(apart)
			return true
		}
	}
	return redis.HasErrorPrefix(err, "NOPERM") // Of one of the keys, perhaps.
}

// may reports whether keys can be packed.
func (p *packing) may(ctx context.Context, s *Store) bool {
	if p.state.Load() == unknown && p.mu.TryLock() {
		defer p.mu.Unlock()
		if now := time.Now(); !now.Before(p.next) {
			p.next = now.Add(probeAgain)
			p.state.CompareAndSwap(unknown, probe(ctx, s))
		}
	}
	return p.state.Load() == together
}

// probes is how many servers there have to be for a chance of 1 in 65536 that
// two are taken for one.
const probes = 16

// probe finds out whether scripts with any first key see the same second one.
func probe(ctx context.Context, s *Store) int32 {
	token, name := rand.Text(), s.prefix+"{probe}"
	const (
		leave = "redis.call('SET', KEYS[1], ARGV[1], 'PX', '10000') return ARGV[1]"
		look  = "return redis.call('GET', KEYS[2])"
	)
	pipe := s.client.Pipeline()
	_ = pipe.Process(ctx, newOnce(ctx, "eval", leave, 1, name, token))
	if _, err := pipe.Exec(ctx); err != nil {
		return outcome(err)
	}
	pipe = s.client.Pipeline()
	var seen [probes]once
	for i := range seen {
		seen[i] = newOnce(ctx, "eval", look, 2, s.prefix+"{probe"+strconv.Itoa(i)+"}", name)
		_ = pipe.Process(ctx, seen[i])
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return outcome(err)
	}
	for i := range seen {
		if text, err := seen[i].Text(); err != nil || text != token {
			return apart
		}
	}
	return together
}

// outcome is what an error says of the servers: nothing, unless it is one of
// them that says it.
func outcome(err error) int32 {
	var said redis.Error
	if errors.As(err, &said) {
		return apart
	}
	return unknown
}
