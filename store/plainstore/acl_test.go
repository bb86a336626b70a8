package plainstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// minACL is the line of docs/redis.md for this package.
const minACL = "on >password resetkeys ~weir:* resetchannels -@all +set +incrby +pttl +pexpire +get +del +multi +exec"

// TestLeastACL: a user with these permissions can do everything, and needs
// each of them.
func TestLeastACL(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client()
	channelless := strings.HasPrefix(server.Info("server")["redis_version"], "6.0.")
	tests := map[string]string{"": ""}
	for _, word := range strings.Fields(minACL) {
		if command, ok := strings.CutPrefix(word, "+"); ok {
			tests[command] = " -" + command
		}
	}
	for command, less := range tests {
		t.Run("without "+command, func(t *testing.T) {
			user := "weir" + command
			args := []any{"ACL", "SETUSER", user}
			for _, rule := range strings.Fields(minACL + less) {
				if rule != "resetchannels" || !channelless {
					args = append(args, rule)
				}
			}
			if err := admin.Do(t.Context(), args...).Err(); err != nil {
				t.Fatal(err)
			}
			s := newStore(t, server.Client(func(o *redis.Options) { o.Username, o.Password = user, "password" }))
			err := everything(t.Context(), s, admin)
			if (err == nil) != (command == "") {
				t.Error(err)
			}
		})
	}
}

// everything makes the store send each of its commands.
func everything(ctx context.Context, s *Store, admin *redis.Client) error {
	admin.FlushAll(ctx)
	var errs []error
	must := func(key string, cost, remaining int64, period time.Duration) {
		d, err := s.Take(ctx, charge(key, cost, per(10, period)))
		if err == nil && d.Remaining != remaining {
			err = errors.New("the remaining units are wrong")
		}
		errs = append(errs, err)
	}
	admin.Set(ctx, counter("endless", 0), 1, 0)
	must("endless", 1, 8, time.Minute)
	must("far", 8, 2, time.Minute)
	must("far", 3, 2, time.Minute)
	must("far", 0, 2, time.Minute)
	return errors.Join(append(errs, s.Reset(ctx, "", "far"))...)
}
