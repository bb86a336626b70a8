package inspect

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/internal/redisstate"
	"github.com/redis/go-redis/v9"
)

const (
	// maxLog bounds the log entries that are read for one key. fewLog is the bound for each
	// of many keys.
	maxLog, fewLog = 20_000, 600
	// maxLeases bounds the leases of a key that are read.
	maxLeases = 1000
	// maxState is the number of bytes of a value that are read: more than any state has.
	maxState = redisstate.MaxSize + 1
	// batch is the number of keys that share a round trip.
	batch = 50
)

// wanted is a key to read, and the parts that it may have.
type wanted struct {
	name           rediskey.Name
	ttl, log, held bool
}

func whole(name rediskey.Name) wanted { return wanted{name, true, true, true} }

// stored are the replies about a key.
type stored struct {
	value   *redis.StringCmd
	ttl     *redis.DurationCmd
	log     *redis.StringSliceCmd
	leases  *redis.IntCmd
	flights *redis.ZSliceCmd
}

// maxAgain is how often a torn key is read again.
const maxAgain = 2

// read reads keys of one server, in their order. It reads a key again, with all its parts, if
// another call has changed the key between the commands, or if its log is new.
func (i *Inspector) read(ctx context.Context, n node, some []wanted, entries int64) ([]Key, error) {
	keys, err := i.readOnce(ctx, n, some, entries)
	for j := range keys {
		w := some[j]
		w.log, w.held = true, true
		for again := 0; err == nil && again < maxAgain && errors.Is(keys[j].Err, errTorn); again++ {
			var one []Key
			if one, err = i.readOnce(ctx, n, []wanted{w}, entries); err == nil {
				keys[j] = one[0]
			}
		}
	}
	return keys, err
}

// readOnce reads keys in one round trip.
func (i *Inspector) readOnce(ctx context.Context, n node, some []wanted, entries int64) ([]Key, error) {
	all := make([]stored, len(some))
	pipe := n.Client.Pipeline()
	at := pipe.Time(ctx)
	for j := range some {
		all[j] = some[j].ask(ctx, pipe, entries)
	}
	if err := exec(ctx, pipe); err != nil {
		return nil, err
	}
	now, err := at.Result()
	if err != nil {
		return nil, err
	}
	keys := make([]Key, len(some))
	for j, w := range some {
		keys[j] = Key{Limiter: w.name.Scope, Key: w.name.Key, Hash: w.name.Hash, Stored: w.name.State, Server: n.Addr, At: now.Add(i.ahead).UTC()}
		keys[j].Err = keys[j].decode(&all[j])
	}
	return keys, nil
}

func (w *wanted) ask(ctx context.Context, pipe redis.Pipeliner, entries int64) stored {
	state := w.name.State
	s := stored{
		value: pipe.GetRange(ctx, state, 0, maxState-1), ttl: redis.NewDurationResult(gone, nil), log: redis.NewStringSliceResult(nil, nil),
		leases: redis.NewIntResult(0, nil), flights: redis.NewZSliceCmdResult(nil, nil),
	}
	if w.ttl {
		s.ttl = pipe.PTTL(ctx, state)
	}
	if w.log {
		s.log = pipe.LRange(ctx, rediskey.Log(state), -entries, -1)
	}
	if w.held {
		s.leases, s.flights = pipe.ZCard(ctx, rediskey.Held(state)), pipe.ZRangeWithScores(ctx, rediskey.Held(state), 0, maxLeases-1)
	}
	return s
}

// refusals begin answers of a server that are about more than one key.
var refusals = []string{"NOAUTH", "NOPERM", "WRONGPASS", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "BUSY"}

// exec sends commands. An answer of the server to one of them is no error here.
func exec(ctx context.Context, pipe redis.Pipeliner) error {
	_, err := pipe.Exec(ctx)
	refuses := func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) }
	if _, answered := errors.AsType[redis.Error](err); answered && !slices.ContainsFunc(refusals, refuses) {
		return nil
	}
	return err
}

// Redis answers these to PTTL without an expiry, and without a key.
const lasting, gone time.Duration = -1, -2
