package redisstore

import (
	"context"
	"strconv"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// Brake implements [store.Braker] with one EVALSHA, which also publishes the key's clock on
// the channel "<prefix>brakes". If the script may not publish, waiters learn of the brake
// when their slot comes.
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	req := store.Request{Charges: charges}
	if err := req.Validate(); err != nil {
		return err
	}
	if err := b.Validate(); err != nil {
		return err
	}
	if !sameKey(charges) {
		return &store.ConfigError{Field: "charges", Want: "charges of one key", Got: "several keys"}
	}
	k := s.keyOf(charges, nil)
	k.Log = rediskey.Log(k.State)
	c := &charges[0]
	_, err := s.run(ctx, &script.Brake, script.BrakeArgs(&k, &b, exact.Fastest(charges), s.clock(), s.channel(), brakeName(c.Scope, c.Key)))
	s.denials.Forget(c.Scope, c.Key)
	return err
}

// channel returns the name of the channel for brakes.
func (s *Store) channel() string { return s.prefix + "brakes" }

// brakeName returns the name of a key in messages: the length of the scope, scope and key.
func brakeName(scope, key string) string { return strconv.Itoa(len(scope)) + ":" + scope + key }

// parseName reads a brakeName.
func parseName(name string) (scope, key string, ok bool) {
	for i := range len(name) {
		if name[i] != ':' {
			continue
		}
		n, err := strconv.Atoi(name[:i])
		rest := name[i+1:]
		if err != nil || n < 0 || n > len(rest) {
			return "", "", false
		}
		return rest[:n], rest[n:], true
	}
	return "", "", false
}
