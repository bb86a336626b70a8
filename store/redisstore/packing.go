package redisstore

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// packing says whether one script call may have keys that share no slot: only
// where one server has them all. For that it takes a server that a *redis.Client
// speaks with and a master of a cluster, when it has shown that it is not several
// behind a proxy.
//
// A cluster's master refuses a call that declares keys of several slots, and not
// one whose script uses them, as long as they are its own. Such a call declares
// none: it is neither refused nor sent on for one of its keys. A key that is not
// there any more, or is on the move, meets an error of its own in the script, and
// is asked for by itself, which the client can send on. (Had it declared the first,
// a server to which that key's slot moves would be told to take all slots that do,
// with keys that are still elsewhere.)
type packing struct {
	has        func(ctx context.Context, key string) bool // the server; nil: there is no one server
	undeclared bool
	found      atomic.Pointer[finding]
	turn       chan struct{} // has a value while somebody probes
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

// is returns what was found last.
func (p *packing) is() int32 {
	if p.has == nil {
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
	is, _ := p.ask(ctx, s, patient)
	return is
}

// ask is look, and returns the error of a probe which no answer came to in time.
func (p *packing) ask(ctx context.Context, s *Store, patient bool) (is int32, silent error) {
	if !p.due(s) {
		return p.is(), nil
	}
	select {
	case p.turn <- struct{}{}:
	default:
		if !patient || p.is() != unknown {
			return p.is(), nil
		}
		select {
		case p.turn <- struct{}{}:
		case <-ctx.Done():
			return unknown, nil
		}
	}
	defer func() { <-p.turn }()
	if p.due(s) {
		lost := s.denials.lost.Load()
		is, err := p.probe(ctx, s)
		if is == unknown {
			is = p.is()
		}
		p.found.Store(&finding{is, time.Now(), lost})
		if timeout, ok := errors.AsType[interface {
			error
			Timeout() bool
		}](err); ok && timeout.Timeout() {
			silent = err
		}
	}
	return p.is(), silent
}

// due reports whether it is time for a probe.
func (p *packing) due(s *Store) bool {
	if p.has == nil {
		return false
	}
	f := p.found.Load()
	if f == nil {
		return true
	}
	age := time.Since(f.at)
	return age >= probeAnew || age >= probeAgain && (f.is == unknown || f.lost != s.denials.lost.Load())
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
