package fallback_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// Redis forbids the keys of one limiter (NOPERM). Its calls, four of five, are decided
// locally. Redis decides those of other limiters.
func TestForbiddenKeysOfOneLimiter(t *testing.T) {
	t.Parallel()
	for _, callers := range []int{5, 40} {
		t.Run(fmt.Sprintf("%d callers", callers), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 0, 0, fallback.Config{})
			run(t, f.server, "acl setuser weir on >secret resetkeys ~weir:{allowed:* ~weir:{weir-probe:* ~weir:{other:* allchannels +@all")
			s := f.join(fallback.Config{Budget: patient}, func(o *redis.Options) { o.Username, o.Password = "weir", "secret" })
			f.recover()
			limit := store.Per(1_000_000, time.Hour)
			var local, asked, forbidden atomic.Int64
			var cause atomic.Value
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			var wg sync.WaitGroup
			for i := range callers {
				scope := "forbidden"
				if i%5 == 0 {
					scope = "allowed"
				}
				wg.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						req := store.Request{Charges: []store.Charge{{Scope: scope, Key: fmt.Sprint(i, ".", n%10), Limit: limit, Cost: 1}}}
						d, err := s.Take(context.Background(), req)
						switch {
						case err != nil || !d.Allowed:
							t.Errorf("%s: %+v, %v", scope, d, err)
						case scope == "allowed":
							asked.Add(1)
							if d.Degraded {
								local.Add(1)
								_, err := s.Away()
								cause.CompareAndSwap(nil, fmt.Sprint(err))
							}
						case !d.Degraded:
							t.Error("Redis has decided a call that it forbids")
						default:
							forbidden.Add(1)
						}
						time.Sleep(time.Millisecond)
					}
				})
			}
			wg.Wait()
			t.Logf("%d of %d calls decided without Redis, beside %d of the forbidden limiter", local.Load(), asked.Load(), forbidden.Load())
			if local.Load() > 0 {
				t.Errorf("%d of %d calls of the allowed limiter are decided without Redis, want none. The state is %v, breakers opened %d times; %v",
					local.Load(), asked.Load(), s.State(), f.opened.Load(), cause.Load())
			}
		})
	}
}
