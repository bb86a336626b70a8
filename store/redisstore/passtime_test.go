package redisstore

import (
	"errors"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// TestPassTime: if scripts may not use TIME, calls fail with ErrTime, an error of all keys.
// With Config.PassTime they bring their own time.
func TestPassTime(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client()
	args := []any{"ACL", "SETUSER", "timeless", "on", ">secret", "~*", "+@all", "-time"}
	if err := admin.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
	user := server.Client(func(o *redis.Options) { o.Username, o.Password = "timeless", "secret" })
	plain := newStore(t, user)
	passing, err := New(Config{Client: user, Prefix: "passing", PassTime: true})
	if err != nil {
		t.Fatal(err)
	}
	limit := store.Per(5, time.Minute)
	waiting := charge("key", 1, limit)
	waiting.MaxWait, waiting.Cancelable = time.Hour, true
	for what, do := range map[string]func(s *Store) error{
		"a call":             func(s *Store) error { _, err := s.Take(t.Context(), charge("key", 1, limit)); return err },
		"a call that waits":  func(s *Store) error { _, err := s.Take(t.Context(), waiting); return err },
		"a look":             func(s *Store) error { _, err := s.Take(t.Context(), charge("key", 0, limit)); return err },
		"a brake":            func(s *Store) error { return s.Brake(t.Context(), waiting.Charges, store.Brake{Pause: time.Second}) },
		"a lease":            func(s *Store) error { _, err := s.Take(t.Context(), holding("held", "a", 1, 1, limit)); return err },
		"a lease is renewed": func(s *Store) error { _, err := s.Renew(t.Context(), "", "held", time.Minute, "a"); return err },
		"a batch of two keys": func(s *Store) error {
			_, errs := batch(s, []store.Request{charge("a", 1, limit), charge("b", 1, limit)})
			return errors.Join(errs...)
		},
	} {
		err := do(plain)
		var one interface{ OfOneKey() bool }
		if !errors.Is(err, ErrTime) || errors.As(err, &one) && one.OfOneKey() {
			t.Errorf("%s: %v, want ErrTime of no single key", what, err)
		}
		if err := do(passing); err != nil {
			t.Errorf("%s, with PassTime: %v", what, err)
		}
	}
	before := time.Now()
	d := take(t, passing, charge("fresh", 5, limit))
	if at := time.UnixMicro(int64(d.At)); !d.Allowed || at.Before(before.Truncate(time.Microsecond)) || at.After(time.Now()) {
		t.Errorf("%+v, want it at this process's time", d)
	}
	if d := take(t, passing, charge("fresh", 1, limit)); d.Allowed || d.RetryAfter > 12*time.Second {
		t.Errorf("%+v", d)
	}
}
