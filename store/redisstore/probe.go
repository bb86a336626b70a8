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

// names returns those that a probe is made with, of different slots. Of a server
// with few slots there may be fewer than it takes.
func (p *packing) names(ctx context.Context, s *Store) []any {
	names := make([]any, 0, 1+probes)
	for i := 0; i < mostNames && len(names) < cap(names); i++ {
		if name := s.prefix + "{probe" + strconv.Itoa(i) + "}"; p.has(ctx, name) {
			names = append(names, name)
		}
	}
	return names
}

// probe leaves a token under each name, where whoever declares that finds it, and
// looks whether a script that has all the names finds as many.
func (p *packing) probe(ctx context.Context, s *Store) (int32, error) {
	names := p.names(ctx, s)
	if len(names) <= probes {
		return apart, nil
	}
	const (
		leave = "redis.call('SET', KEYS[1], ARGV[1], 'PX', '10000') return 1"
		check = "return redis.call('GET', KEYS[1]) == ARGV[1] and 1 or 0"
		look  = "local n, names = 0, #KEYS > 0 and KEYS or ARGV " +
			"for i = 1, tonumber(ARGV[#ARGV - 1]) do if redis.call('GET', names[i]) == ARGV[#ARGV] then n = n + 1 end end return n"
	)
	token := rand.Text()
	if _, err := each(ctx, s, names, leave, token); err != nil {
		return outcome(err), err
	}
	declared := len(names)
	if p.undeclared {
		declared = 0
	}
	args := append(append([]any{"eval", look, declared}, names...), len(names), token)
	all := newOnce(ctx, args...)
	all.SetFirstKeyPos(3)
	pipe := s.client.Pipeline()
	_ = pipe.Process(ctx, all)
	if _, err := pipe.Exec(ctx); err != nil {
		return p.refusal(err), err
	}
	if found, _ := all.Int(); found == len(names) {
		return together, nil
	}
	if there, err := each(ctx, s, names, check, token); err != nil || there < len(names) {
		return unknown, err // They were lost meanwhile.
	}
	return scattered, nil
}

// each calls a script for each name, and adds up what they return.
func each(ctx context.Context, s *Store, names []any, script, token string) (sum int, err error) {
	pipe := s.client.Pipeline()
	cmds := make([]once, len(names))
	for i, name := range names {
		cmds[i] = newOnce(ctx, "eval", script, 1, name, token)
		_ = pipe.Process(ctx, cmds[i])
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, err
	}
	for _, cmd := range cmds {
		n, err := cmd.Int()
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// refusal is what the error of a look says. That a slot has moved, or is about to,
// is soon over; of other errors of its own a script of a master dies that does not
// let it use what it has not declared.
func (p *packing) refusal(err error) int32 {
	var said redis.Error
	if p.undeclared && errors.As(err, &said) && strings.HasPrefix(said.Error(), "ERR ") && !strings.Contains(said.Error(), "non local key") {
		return apart
	}
	return outcome(err)
}
