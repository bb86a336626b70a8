package redisstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// forger answers each command with one reply.
type forger struct{ reply any }

func (f forger) DialHook(next redis.DialHook) redis.DialHook { return next }
func (f forger) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		cmd.(interface{ SetVal(any) }).SetVal(f.reply)
		return nil
	}
}
func (f forger) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			cmd.(interface{ SetVal(any) }).SetVal(f.reply)
		}
		return nil
	}
}

// TestForgedReplies: a reply that no script gives is an error, of each call that reads one.
func TestForgedReplies(t *testing.T) {
	t.Parallel()
	one := charge("a", 1, store.Per(5, time.Second))
	one.Cancelable = true
	two := one
	two.Charges = append(two.Charges[:1:1], charge("b", 1, store.Per(5, time.Second)).Charges...)
	now := time.Now().UnixMicro()
	taken := []any{now, now, int64(0), int64(1), int64(1), now, now, now, int64(0), now, int64(1), int64(1), int64(-1), int64(0), ""}
	undecided := []any{now, now, int64(0), int64(-2), int64(1), int64(1), int64(-1), int64(0), ""}
	memory := store.Memory{Key: "a", Limits: []store.Limit{store.Per(5, time.Second)}, At: 1, Known: make([]store.Used, 1)}
	for name, test := range map[string]struct {
		reply any
		call  func(ctx context.Context, s *Store) error
	}{
		"one key, undecided":  {undecided, func(ctx context.Context, s *Store) error { _, err := s.takeAlone(ctx, &one); return err }},
		"two keys, undecided": {undecided, func(ctx context.Context, s *Store) error { _, err := s.Take(ctx, two); return err }},
		"reset":               {"OK", func(ctx context.Context, s *Store) error { return s.Reset(ctx, "", "a") }},
		"brake": {"OK", func(ctx context.Context, s *Store) error {
			return s.Brake(ctx, one.Charges, store.Brake{Pause: time.Second})
		}},
		"restore":         {"OK", func(ctx context.Context, s *Store) error { _, err := s.Restore(ctx, memory); return err }},
		"restore nothing": {nil, func(ctx context.Context, s *Store) error { _, err := s.Restore(ctx, memory); return err }},
		"renew": {"OK", func(ctx context.Context, s *Store) error {
			_, err := s.Renew(ctx, "", "a", time.Second, "id")
			return err
		}},
		"settle": {"OK", func(ctx context.Context, s *Store) error {
			honest := redis.NewClient(&redis.Options{})
			defer honest.Close()
			honest.AddHook(forger{taken})
			booking, err := New(Config{Client: honest})
			if err != nil {
				return err
			}
			d, err := booking.takeAlone(ctx, &one)
			if err != nil || d.Receipt == nil {
				return fmt.Errorf("no receipt: %+v, %w", d, err)
			}
			return s.Settle(ctx, d.Receipt, 0)
		}},
	} {
		for _, slotted := range []bool{false, true} {
			c := redis.NewClient(&redis.Options{})
			defer c.Close()
			c.AddHook(forger{test.reply})
			s := newStore(t, c)
			s.slotted.Store(slotted)
			if err := test.call(t.Context(), s); err == nil {
				t.Errorf("%s, in several calls %t: no error", name, slotted)
			} else {
				t.Log(name, err)
			}
		}
	}
}
