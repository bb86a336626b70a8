package contender

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// These are the bounds of any limiter over the same client: the round trip alone, the
// cheapest script, and a minimal GCRA.

// Ping is a round trip.
func Ping() Contender {
	return physical("PING", func(c Cleaner, _ Limit, at Servers) (Decide, error) {
		client := at.Client(c)
		return func(ctx context.Context, _ string) (bool, error) {
			err := client.Ping(ctx).Err()
			return err == nil, err
		}, nil
	})
}

// ReturnOne is the cheapest script.
func ReturnOne() Contender {
	return physical("return 1", func(c Cleaner, _ Limit, at Servers) (Decide, error) {
		client, script := at.Client(c), redis.NewScript(`return 1`)
		return func(ctx context.Context, key string) (bool, error) {
			err := script.EvalSha(ctx, client, []string{key}).Err()
			return err == nil, err
		}, script.Load(context.Background(), client).Err()
	})
}

// minimalGCRA decides one unit of one limit, and answers yes or no only. It has no other
// algorithm, no remaining units, no pauses and no changes of limits.
var minimalGCRA = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local tat = tonumber(redis.call('GET', KEYS[1])) or now
if tat < now then tat = now end
tat = tat + ARGV[1]
if tat - ARGV[2] > now then return 0 end
redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil((tat - now) / 1000))
return 1`)

// BareGCRA is a minimal GCRA script, one EVALSHA per decision.
func BareGCRA() Contender {
	p := physical("minimal GCRA", func(c Cleaner, l Limit, at Servers) (Decide, error) {
		client := at.Client(c)
		return decideBare(client, l), minimalGCRA.Load(context.Background(), client).Err()
	})
	p.Network = p.Redis
	return p
}

func decideBare(client redis.Scripter, l Limit) Decide {
	interval, capacity := l.Refill.Microseconds(), l.Burst*l.Refill.Microseconds()
	return func(ctx context.Context, key string) (bool, error) {
		n, err := minimalGCRA.EvalSha(ctx, client, []string{"bare:" + key}, interval, capacity).Int()
		return n == 1, err
	}
}

// Pipelined sends 64 decisions at a time.
func Pipelined() Contender {
	const batch = 64
	p := physical("minimal GCRA, 64 in a pipeline", func(c Cleaner, l Limit, at Servers) (Decide, error) {
		client := at.Client(c)
		interval, capacity := l.Refill.Microseconds(), l.Burst*l.Refill.Microseconds()
		return func(ctx context.Context, key string) (bool, error) {
			pipe := client.Pipeline()
			for i := range batch {
				minimalGCRA.EvalSha(ctx, pipe, []string{"bare:" + key + strconv.Itoa(i)}, interval, capacity)
			}
			_, err := pipe.Exec(ctx)
			return err == nil, err
		}, minimalGCRA.Load(context.Background(), client).Err()
	})
	p.Batch = batch
	return p
}

func physical(name string, open func(Cleaner, Limit, Servers) (Decide, error)) Contender {
	return Contender{Name: name, Module: "github.com/redis/go-redis/v9", Physical: true, Redis: open}
}
