package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// A master of a cluster refuses a command of several keys, with TRYAGAIN, when
// their slot is on the move and it has not all of them: also when one of them is
// nowhere, as the log of a window that nothing was taken of, or the leases of a key
// that has nothing in flight. What it refuses it has not begun.
//
// Where the master that the slot leaves has none of the keys, it can have no more of
// them, and the one that takes the slot has all that there are. It decides when it is
// told of one of them alone, and finds the names of the others in ARGV, behind "k"
// and how many they are. As long as the first has one of them, neither decides.

// processor is a client of a cluster, or of one of its nodes.
type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// isSplit reports whether a call was refused because its keys may be at two places.
func isSplit(err error) bool { return err != nil && redis.HasErrorPrefix(err, "TRYAGAIN") }

// unsplit has a call decided that was refused so, with these arguments. What it sends
// it has do send.
func (l *lines) unsplit(ctx context.Context, args []any, refusal error, do func(processor, []any) error) error {
	keys, ok := args[2].(int)
	if !ok || keys < 2 || !l.slots {
		return refusal
	}
	server, err := l.server(ctx, fmt.Sprint(args[3]))
	if err != nil {
		return refusal
	}
	args = append([]any(nil), args...)
	args[0], args[1] = byText, scriptArg
	// It says whether it has them all by now, or none.
	if err = do(server, args); err == nil || !redis.HasErrorPrefix(err, "ASK") {
		if err != nil && redis.HasErrorPrefix(err, "MOVED") {
			return refusal
		}
		return err
	}
	others, rest := args[4:3+keys], args[3+keys:]
	told := append([]any{byText, scriptArg, 1, args[3], "k", len(others)}, others...)
	return do(l.first.store.client, append(told, rest...))
}

// unsplit has those of a flight's commands decided that were refused so.
func (f *flight) unsplit(ctx context.Context) {
	for _, cmd := range f.cmds {
		err := cmd.Err()
		if !isSplit(err) || len(cmd.entries) > 1 {
			continue
		}
		err = f.combiner.store.shared.unsplit(ctx, cmd.Args(), err, func(p processor, args []any) error {
			cmd.say(ctx, args)
			return p.Process(ctx, cmd.numbers)
		})
		cmd.SetErr(err)
	}
}

// forget deletes keys one by one, wherever each is.
func (s *Store) forget(ctx context.Context, keys []any) error {
	for _, key := range keys {
		if err := s.client.Process(ctx, newOnce(ctx, "del", key)); err != nil {
			return err
		}
	}
	return nil
}

// splitError is that of a call whose keys are at two places. The others have nothing
// to fear, and it is soon over.
type splitError struct{ error }

func (e *splitError) Unwrap() error { return e.error }

// OfOneKey implements the KeyError of package fallback.
func (e *splitError) OfOneKey() bool { return true }
