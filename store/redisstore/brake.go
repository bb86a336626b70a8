package redisstore

import (
	"context"
	"strconv"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// Brake implements [store.Braker]: one EVALSHA, which also publishes the change
// on the channel "<prefix>brakes" of Redis when slots booked ahead became void.
// Where the script may not publish, those who wait learn of it when their slot
// comes.
func (s *Store) Brake(ctx context.Context, charges []store.Charge, b store.Brake) error {
	req := store.Request{Charges: charges}
	if err := req.Validate(); err != nil {
		return err
	}
	if err := b.Validate(); err != nil {
		return err
	}
	if s.plain != nil {
		return ErrNeedsScripts
	}
	c := s.newCall(&req, "brake")
	if len(c.groups) > 1 {
		return &store.ConfigError{Field: "charges", Want: "charges of one key", Got: strconv.Itoa(len(c.groups)) + " keys"}
	}
	c.groups[0].argv = append(c.groups[0].argv, flag(b.Lift), exact.Whole(b.Pause), exact.Whole(b.Slack),
		exact.Whole(b.Cut.Unit), exact.Whole(b.Cut.Recovery), int64(b.Cut.Since),
		flag(b.Tell), exact.Whole(b.Gap), exact.Whole(b.GapFor),
		s.channel(), name(charges[0].Scope, charges[0].Key))
	_, err := s.run(ctx, c)
	s.denials.forget(charges[0].Scope, charges[0].Key)
	return err
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// brake reads what the script says of a key's brake.
func (r *reader) brake() exact.Braked {
	return exact.Braked{At: r.next(), Paused: r.next(), From: r.next(), Gap: r.next(), Told: r.next()}
}

func (s *Store) channel() string { return s.prefix + "brakes" }

// name is a key of a scope as it is published.
func name(scope, key string) string { return strconv.Itoa(len(scope)) + ":" + scope + key }

// parseBrake reads what is published: the instant and the name.
func parseBrake(text string) (scope, key string, at store.Instant, ok bool) {
	r := reader{text: text}
	at = store.Instant(r.next())
	for i := range len(r.text) {
		if r.text[i] != ':' {
			continue
		}
		n, err := strconv.Atoi(r.text[:i])
		rest := r.text[i+1:]
		if r.bad || err != nil || n < 0 || n > len(rest) {
			return "", "", 0, false
		}
		return rest[:n], rest[n:], at, true
	}
	return "", "", 0, false
}
