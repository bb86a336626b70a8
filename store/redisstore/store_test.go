package redisstore

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/storetest"
)

// startMicros is 2000-01-01T00:00:00Z, where testing/synctest starts too.
const startMicros = 946684800_000_000

// newOn returns a store on client with a clock that stands still and what moves
// it.
func newOn(t testing.TB, client redis.UniversalClient, prefix string) (*Store, func(time.Duration)) {
	var now atomic.Int64
	now.Store(startMicros)
	s, err := New(Config{Client: client, Prefix: prefix, now: now.Load})
	if err != nil {
		t.Fatal(err)
	}
	return s, func(d time.Duration) { now.Add(d.Microseconds()) }
}

func TestMini(t *testing.T) {
	storetest.RunWithClock(t, func(t *testing.T) (weir.Store, func(time.Duration)) {
		m := miniredis.RunT(t)
		c := redis.NewClient(&redis.Options{Addr: m.Addr()})
		t.Cleanup(func() { c.Close() })
		return newOn(t, c, "")
	})
}
func TestReal(t *testing.T) {
	addr := os.Getenv("TR")
	var n atomic.Int64
	storetest.RunWithClock(t, func(t *testing.T) (weir.Store, func(time.Duration)) {
		c := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { c.Close() })
		n.Add(1)
		return newOn(t, c, "t"+string(rune('a'+n.Load()))+":")
	})
}
