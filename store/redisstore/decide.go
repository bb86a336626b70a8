package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/internal/rediscall"
	"github.com/goweir/weir/store/redisstore/internal/combine"
	"github.com/goweir/weir/store/redisstore/internal/script"
	"github.com/redis/go-redis/v9"
)

// run holds calls of one key under the same limits, in order.
type run struct {
	script.Key
	calls []*call
}

// decide decides a batch in one round trip. On one server many keys share an EVALSHA. On a
// cluster or a ring each run has its own, in a pipeline. Errors are set in the calls. decide
// returns an error if the server has answered none of them.
func (s *server) decide(ctx context.Context, groups []combine.Group[keys.Key, call]) error {
	runs := s.runsOf(groups)
	packed := !s.slotted.Load()
	s.decideRuns(ctx, runs, packed)
	if packed && len(runs) > 1 {
		s.decideApart(ctx, runs)
	}
	return unanswered(runs)
}

// unanswered returns the error of the first run if the server has answered none.
func unanswered(runs []run) error {
	for i := range runs {
		err := runs[i].calls[0].err
		if _, answered := errors.AsType[redis.Error](err); err == nil || answered {
			return nil
		}
	}
	return runs[0].calls[0].err
}

// decideApart decides runs again, one by one, after a key forbidden to the user or on another
// server failed their shared EVALSHA. The server had decided nothing.
func (s *server) decideApart(ctx context.Context, runs []run) {
	var again []run
	for i := range runs {
		if err := runs[i].calls[0].err; errors.Is(err, ErrCrossSlot) || isForbidden(err) {
			again = append(again, runs[i])
		}
	}
	if len(again) > 0 {
		s.decideRuns(ctx, again, false)
	}
}

// runsOf sorts calls into runs. Runs of different keys under the same limits stand together.
// The calls of a key keep their order.
func (s *server) runsOf(groups []combine.Group[keys.Key, call]) []run {
	runs := make([]run, 0, len(groups))
	for first := -1; first < len(runs); {
		first = len(runs)
		for i := range groups {
			if len(groups[i].Calls) > 0 {
				runs = append(runs, s.next(&groups[i]))
			}
		}
		sort(runs[first:])
	}
	return runs
}

// next takes the next run from a group.
func (s *server) next(g *combine.Group[keys.Key, call]) run {
	n := 1
	for n < len(g.Calls) && g.Calls[n].limits == g.Calls[0].limits && g.Calls[n].cancelable == g.Calls[0].cancelable {
		n++
	}
	l := g.Calls[0].limits
	r := run{script.Key{State: s.name(g.Key.Scope, g.Key.Key), Limits: l, Calls: int32(n), Logged: l.Logged}, g.Calls[:n]}
	if g.Calls[0].cancelable {
		r.Tag = s.tag()
	}
	for _, c := range r.calls {
		if c.seen > 0 && (r.Seen == 0 || c.seen < r.Seen) {
			r.Seen = c.seen
		}
	}
	g.Calls = g.Calls[n:]
	return r
}

// sort puts runs under the same limits together, at the place of the first.
func sort(runs []run) {
	for i := 1; i < len(runs); i++ {
		if runs[i].Limits == runs[i-1].Limits {
			continue
		}
		for j := i + 1; j < len(runs); j++ {
			if runs[j].Limits == runs[i-1].Limits {
				runs[i], runs[j] = runs[j], runs[i]
				break
			}
		}
	}
}

// maxWork bounds the work of one EVALSHA, in GCRA limits: Redis serves no other client
// meanwhile.
const maxWork = 128

func (r *run) work() int {
	if r.Limits.Logged {
		return 4 + len(r.Limits.Rules)
	}
	return len(r.Limits.Rules)
}

// pack returns the runs of each EVALSHA.
func pack(room [][]run, runs []run, packed bool) [][]run {
	for len(runs) > 0 {
		n, work := 1, runs[0].work()
		for packed && n < len(runs) && work+runs[n].work() <= maxWork {
			work += runs[n].work()
			n++
		}
		room, runs = append(room, runs[:n]), runs[n:]
	}
	return room
}

// decideRuns sends runs and reads the replies.
func (s *server) decideRuns(ctx context.Context, runs []run, packed bool) {
	sent := s.elapsed()
	var roomOfPacks [1][]run
	var room [1]rediscall.Once
	packs, commands := pack(roomOfPacks[:0], runs, packed), room[:0]
	for _, p := range packs {
		commands = append(commands, s.command(ctx, p))
	}
	s.eval(ctx, &script.Allow, commands)
	heard := s.elapsed()
	for i, p := range packs {
		if err := read(p, commands[i], sent, heard); err != nil {
			fail(p, s.failed(err))
		}
	}
}

// command returns the EVALSHA of allow for runs.
func (s *server) command(ctx context.Context, runs []run) rediscall.Once {
	key := func(i int) *script.Key { return &runs[i].Key }
	return rediscall.New(ctx, byHash(&script.Allow, script.AllowArgs(len(runs), key, s.clock()))...)
}

// read sets the answers of calls.
func read(runs []run, c rediscall.Once, sent, heard time.Duration) error {
	if err := c.Err(); err != nil {
		return err
	}
	list := script.NewReply(c.Val())
	now := list.Number()
	for i := range runs {
		r := &runs[i]
		a := &answer{now: now, seen: r.Seen, sent: sent, heard: heard}
		a.Answer = list.Answer(&r.Key, int(r.Calls), a.states[:0], now)
		if r.Tag > 0 && a.Calls > 0 {
			a.receipt = list.Receipt(r.Key, &a.Answer)
			a.receipt.Slot = list.Number()
		}
		for j, of := range r.calls {
			of.answer, of.place, of.err = a, int64(j), nil // An earlier error may have been of another key.
		}
	}
	return list.End()
}

// fail sets the error of calls.
func fail(runs []run, err error) {
	for i := range runs {
		for _, of := range runs[i].calls {
			of.answer, of.err = nil, err
		}
	}
}
