package contender

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// WeirScript is weir's script, one EVALSHA per call. It shows the delay that shared round
// trips add.
func WeirScript() Contender {
	return Contender{
		Name: "script of weir", Module: "github.com/redis/go-redis/v9", Physical: true,
		Network: func(c Cleaner, l Limit, at Servers) (Decide, error) {
			args, err := scriptArgs(c, l, at)
			if err != nil {
				return nil, err
			}
			client, state := at.Client(c), args[3].(string)
			return func(ctx context.Context, key string) (bool, error) {
				call := slices.Clone(args)
				call[3] = strings.Replace(state, sample, "bare:"+key, 1)
				err := client.Do(ctx, call...).Err()
				return err == nil, err
			}, nil
		},
	}
}

// sample is the key whose command scriptArgs returns.
const sample = "sample"

// scriptArgs returns the EVALSHA that weir sends for a key:
//
//	EVALSHA hash 1 state …
func scriptArgs(c Cleaner, l Limit, at Servers) ([]any, error) {
	client, seen := at.Client(c), new(commands)
	client.AddHook(seen)
	store, err := redisstore.New(redisstore.Config{Client: client})
	if err != nil {
		return nil, err
	}
	decide, err := weirDecide(store, weirLimit(l, weir.GCRA))
	if err != nil {
		return nil, err
	}
	// The first call may send the script's text.
	for range 2 {
		if _, err := decide(context.Background(), sample); err != nil {
			return nil, err
		}
	}
	if args := seen.last; len(args) > 3 && args[0] == "evalsha" && args[2] == 1 {
		return args, nil
	}
	return nil, errors.New("weir has sent no EVALSHA of one key")
}

// commands remembers the last command of a client.
type commands struct{ last []any }

func (s *commands) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.last = slices.Clone(cmd.Args())
		return next(ctx, cmd)
	}
}

func (s *commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
