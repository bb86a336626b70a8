package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

const (
	// probes is how many servers there have to be for a chance of 1 in 65536 that
	// two are taken for one.
	probes = 16
	// mostNames is how many names are tried to find so many that a server has.
	mostNames = 1 << 12
)

// names returns those that a probe is made with, of different slots: the token's,
// and as many to look at it by. Of a server with few slots there may be less.
func (p *packing) names(ctx context.Context, s *Store) []string {
	names := make([]string, 0, 1+probes)
	for i := 0; i < mostNames && len(names) < cap(names); i++ {
		if name := s.prefix + "{probe" + strconv.Itoa(i) + "}"; p.has(ctx, name) {
			names = append(names, name)
		}
	}
	return names
}

// probe finds out whether scripts with any first key see the same second one.
func (p *packing) probe(ctx context.Context, s *Store) int32 {
	names := p.names(ctx, s)
	if len(names) <= probes {
		return apart
	}
	token := rand.Text()
	const (
		leave = "redis.call('SET', KEYS[1], ARGV[1], 'PX', '10000') return ARGV[1]"
		look  = "return redis.call('GET', KEYS[2] or ARGV[1])"
	)
	pipe := s.client.Pipeline()
	_ = pipe.Process(ctx, newOnce(ctx, "eval", leave, 1, names[0], token))
	if _, err := pipe.Exec(ctx); err != nil {
		return outcome(err)
	}
	pipe = s.client.Pipeline()
	declared := 2
	if p.undeclared {
		declared = 1
	}
	var seen [probes + 1]once
	for i := range seen { // The last one, by itself, shows whether the token is still there.
		seen[i] = newOnce(ctx, "eval", look, declared, names[(i+1)%len(names)], names[0])
		_ = pipe.Process(ctx, seen[i])
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return p.refusal(err)
	}
	elsewhere := false
	for i := range seen {
		text, err := seen[i].Text()
		if err != nil && !errors.Is(err, redis.Nil) {
			return p.refusal(err)
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

// refusal is what the error of a look says: of a master whose scripts may not use
// what they have not declared, or that a slot leaves, that it does not take such.
func (p *packing) refusal(err error) int32 {
	var said redis.Error
	if p.undeclared && errors.As(err, &said) && strings.HasPrefix(said.Error(), "ERR ") {
		return apart
	}
	return outcome(err)
}
