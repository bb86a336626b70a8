package redisstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// A server without scripts quotes the arguments that it got. The error names the command,
// and keeps the key to itself.
func TestServerWithoutScripts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--rename-command", "evalsha", "")
	s := newStore(t, server.Client())
	for name, maxWait := range map[string]time.Duration{"now": 0, "waiting": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Take(t.Context(), store.Request{MaxWait: maxWait, Charges: []store.Charge{{Scope: "api", Key: "jane", Limit: store.Per(1, time.Second), Cost: 1}}})
			if _, answered := errors.AsType[redis.Error](err); !answered || !strings.Contains(err.Error(), "unknown command") || strings.Contains(err.Error(), "jane") {
				t.Errorf("%v, want an answer with the unknown command, without the key", err)
			}
		})
	}
}
