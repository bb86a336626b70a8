package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// packing says whether one script call may have keys that share no slot: only
// where there is but one server. It takes a *redis.Client for such, when that has
// shown that it does not speak with one of several behind a proxy, which takes
// the first key to say which.
type packing struct {
	plain bool // the client is a *redis.Client
	found atomic.Pointer[finding]
	turn  chan struct{} // has a value while somebody probes
}

// finding is what is known of the servers.
type finding struct {
	is   int32
	at   time.Time
	lost uint64 // what the store counts of connections that failed
}

const (
	// probeAgain is how long after a probe the next one may be sent where the
	// first had no answer, or a connection has failed since.
	probeAgain = time.Second
	// probeAnew is how long a finding is taken for true otherwise.
	probeAnew = time.Minute
)

// What a finding is.
const (
	unknown   = iota
	together  // one server has all keys
	apart     // keys of different slots are refused, or the client is not permitted to probe
	scattered // each of several servers takes whatever comes with a first key of its own
)

func (p *packing) of(client redis.UniversalClient) {
	_, p.plain = client.(*redis.Client)
	p.turn = make(chan struct{}, 1)
}

// is returns what was found last.
func (p *packing) is() int32 {
	if !p.plain {
		return apart
	}
	if f := p.found.Load(); f != nil {
		return f.is
	}
	return unknown
}

// refused reports whether a server has refused, before it did anything, a script
// call for having several keys.
func (p *packing) refused(s *Store, err error) bool {
	if outcome(err) != apart {
		return false
	}
	if !redis.HasErrorPrefix(err, "NOPERM") { // Of one of the keys, perhaps.
		p.found.Store(&finding{apart, time.Now(), s.denials.lost.Load()})
	}
	return true
}

// look returns what is known, after a probe when it is time for one. Those who
// come while another one probes wait for that if they are patient and nothing is
// known, else they do not.
func (p *packing) look(ctx context.Context, s *Store, patient bool) int32 {
	if !p.due(s) {
		return p.is()
	}
	select {
	case p.turn <- struct{}{}:
	default:
		if !patient || p.is() != unknown {
			return p.is()
		}
		select {
		case p.turn <- struct{}{}:
		case <-ctx.Done():
			return unknown
		}
	}
	defer func() { <-p.turn }()
	if p.due(s) {
		lost := s.denials.lost.Load()
		is := probe(ctx, s)
		if is == unknown {
			is = p.is()
		}
		p.found.Store(&finding{is, time.Now(), lost})
	}
	return p.is()
}

// due reports whether it is time for a probe.
func (p *packing) due(s *Store) bool {
	if !p.plain {
		return false
	}
	f := p.found.Load()
	if f == nil {
		return true
	}
	age := time.Since(f.at)
	return age >= probeAnew || age >= probeAgain && (f.is == unknown || f.lost != s.denials.lost.Load())
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
	var seen [probes + 1]once
	for i := range seen {
		first := name // The last one shows whether the token is still there.
		if i < probes {
			first = s.prefix + "{probe" + strconv.Itoa(i) + "}"
		}
		seen[i] = newOnce(ctx, "eval", look, 2, first, name)
		_ = pipe.Process(ctx, seen[i])
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return outcome(err)
	}
	elsewhere := false
	for i := range seen {
		text, err := seen[i].Text()
		if err != nil && !errors.Is(err, redis.Nil) {
			return outcome(err)
		}
		if text != token {
			elsewhere = true
			if i == probes {
				return unknown
			}
		}
	}
	if elsewhere {
		return scattered
	}
	return together
}

// outcome is what an error says of the servers.
func outcome(err error) int32 {
	for _, prefix := range []string{"CROSSSLOT", "MOVED", "ASK", "NOPERM"} {
		if redis.HasErrorPrefix(err, prefix) {
			return apart
		}
	}
	return unknown
}
