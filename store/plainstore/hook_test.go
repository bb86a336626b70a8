package plainstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/redis/go-redis/v9"
)

// wrapping is a hook of a client that adds a text to errors.
type wrapping struct{}

func (wrapping) DialHook(next redis.DialHook) redis.DialHook { return next }

func (wrapping) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return wrapped(next(ctx, cmd)) }
}

func (wrapping) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return wrapped(next(ctx, cmds)) }
}

func wrapped(err error) error {
	if err != nil {
		err = fmt.Errorf("redis at example.com: %w", err)
	}
	return err
}

// A nil reply is no error, also if a hook of the client wraps it.
func TestHookThatWrapsErrors(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	client.AddHook(wrapping{})
	s := newStore(t, client)
	for i := range int64(3) {
		for _, cost := range []int64{0, 1} {
			if d := take(t, s, charge("k", cost, per(10, time.Minute))); !d.Allowed || d.Remaining != 10-i-cost {
				t.Errorf("call %d of cost %d: %+v", i, cost, d)
			}
		}
	}
}
