package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestLogOutlivesItsValue: a server may keep a log one millisecond longer than its value. The
// rest of the log is no error.
func TestLogOutlivesItsValue(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s := newStore(t, c)
	l := store.Per(3, time.Hour).By(store.SlidingWindow)
	take(t, s, charge("user", 3, l))
	if err := c.Del(context.Background(), c.Keys(context.Background(), "*user}").Val()...).Err(); err != nil {
		t.Fatal(err)
	}
	if d := take(t, s, charge("user", 2, l)); !d.Allowed || d.Remaining != 1 {
		t.Errorf("after the value has expired: %+v", d)
	}
	if d := take(t, s, charge("user", 2, l)); d.Allowed || d.Remaining != 1 {
		t.Errorf("the next call: %+v", d)
	}
}
