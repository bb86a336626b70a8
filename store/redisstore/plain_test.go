package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redisstate"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
	"github.com/redis/go-redis/v9"
)

// TestPlainKeys: allow.lua decides calls of a plain key as it decides calls of any key.
func TestPlainKeys(t *testing.T) {
	t.Parallel()
	const (
		plain = "local simple = #limits == 1 and"
		now   = int64(1_795_551_921_728_900)
		name  = "weir:{:key}"
	)
	body := `local written, of = {}, redis
local function note(name, ...) if name == 'SET' then written[#written + 1] = table.concat({...}, ' ') end end
local redis = {
call = function(...) note(...) return of.call(...) end,
pcall = function(...) note(...) return of.pcall(...) end,
}
local function decide()
` + script.Allow.Body + `end
return {decide(), written}`
	other := strings.Replace(body, plain, "local simple = false and", 1)
	if other == body {
		t.Fatalf("allow.lua has no %q", plain)
	}
	scripts := []*redis.Script{redis.NewScript(body), redis.NewScript(other)}
	// The formats get the TAT after the birth, and the birth.
	formats := []string{
		"=%d|%d", "=%d.1|%d", "=%d.5|%d", "=%d.9|%d", "=%d.|%d", "=-%d|%d", "=%d.3.4|%d", "=%d|%dx", "=9007199254740993%d|%d", "=%d|9007199254740993%d",
		"=%d;g1/1s/2=5|%d", "=%d~99|%d", "=%d|%d|q0.0.0.5.6.7,0", "=%d|%d|c1795551921000000.1795551921000000", "=%d|%d|r",
	}
	ctx, client := context.Background(), redistest.Start(t).Client()
	for range long.Or(20_000, 2000) {
		limit := store.Per(1+rand.Int64N(9), time.Duration(1+rand.IntN(5000))*100*time.Microsecond).WithBurst(4 + rand.Int64N(5))
		if rand.IntN(10) == 0 {
			limit = store.Per(4+rand.Int64N(5), limit.Period).By(store.FixedWindow)
		}
		if rand.IntN(20) == 0 {
			limit = store.Per(1<<50-rand.Int64N(9), (1<<50-10-time.Duration(rand.IntN(9)))*time.Microsecond).WithBurst(4 + rand.Int64N(99))
		}
		req := charge("key", 1+rand.Int64N(3), limit)
		req.Charges[0].Reserve = max(rand.Int64N(4)-2, 0)
		if rand.IntN(10) == 0 {
			req.Charges = append(req.Charges, charge("key", 1, store.Per(9, time.Second)).Charges...)
		}
		born := now - rand.Int64N(1_100_000) + 100_000 // a few in the future
		// After the call, the state lapses about a whole millisecond from now.
		tat := max(now-born-limit.Period.Microseconds()*req.Charges[0].Cost/limit.Rate+rand.Int64N(400)*1000+rand.Int64N(3)-1, 0)
		value := "no state"
		switch format := rand.IntN(3 * len(formats)); {
		case format < len(formats):
			value = "1" + redisstate.FormatLimit(&limit) + fmt.Sprintf(formats[format], tat, born)
		case format < 2*len(formats):
			value = "1" + redisstate.FormatLimit(&limit) + fmt.Sprintf(formats[0], tat, born)
		case format < 3*len(formats)-2:
			value = "" // no key
		}
		key := script.Key{State: name, Limits: script.LimitsOf(req.Charges), Calls: max(1, rand.Int32N(40)-20), Seen: max(rand.Int64N(2)*(born+rand.Int64N(3)-1), 0)}
		args := script.AllowArgs(1, func(int) *script.Key { return &key }, now)
		var got [2]string
		for i, body := range scripts {
			client.Del(ctx, name)
			if value == "no state" {
				client.RPush(ctx, name, value)
			} else if value != "" {
				client.Set(ctx, name, value, 0)
			}
			reply, err := body.Run(ctx, client, []string{name}, args[4:]...).Slice()
			if err != nil {
				t.Fatal(err)
			}
			got[i] = fmt.Sprint(reply)
		}
		if got[0] != got[1] {
			t.Fatalf("%d calls for %v, value %q, last seen %d:\nplain %s\nany   %s", key.Calls, req.Charges, value, key.Seen, got[0], got[1])
		}
	}
}
