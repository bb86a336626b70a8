package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store/redisstore/internal/combine"
	"github.com/goweir/weir/store/redisstore/internal/script"
	"github.com/redis/go-redis/v9"
)

// run holds calls of one key under the same limits, in order.
type run struct {
	script.Calls
	calls []*call
}

// decide decides a batch in one round trip. On one server many keys share an EVALSHA. On a
// cluster or a ring each run has its own, in a pipeline. Errors are set in the calls. decide
// returns an error if the server has answered none of them.
func (s *Store) decide(ctx context.Context, groups []combine.Group[string, call]) error {
	runs := runsOf(groups)
	packed := !s.slotted.Load()
	s.decideRuns(ctx, runs, packed)
	if err := runs[0].calls[0].err; packed && errors.Is(err, ErrCrossSlot) {
		s.slotted.Store(true) // The proxy has shards, and has decided nothing.
		s.decideRuns(ctx, runs, false)
	}
	if packed && len(runs) > 1 {
		s.decideAllowed(ctx, runs)
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

// decideAllowed decides runs again, one by one, after a key forbidden to the user failed
// their shared EVALSHA. The server had decided nothing.
func (s *Store) decideAllowed(ctx context.Context, runs []run) {
	var again []run
	for i := range runs {
		var denied *deniedError
		if errors.As(runs[i].calls[0].err, &denied) {
			again = append(again, runs[i])
		}
	}
	if len(again) > 0 {
		s.decideRuns(ctx, again, false)
	}
}

// runsOf sorts calls into runs. Runs of different keys under the same limits stand together.
// The calls of a key keep their order.
func runsOf(groups []combine.Group[string, call]) []run {
	runs := make([]run, 0, len(groups))
	left := 0
	for i := range groups {
		left += len(groups[i].Calls)
	}
	first := 0
	for left > 0 {
		for i := range groups {
			if len(groups[i].Calls) > 0 {
				runs = append(runs, next(&groups[i]))
			}
		}
		sort(runs[first:])
		first, left = len(runs), 0
		for i := range groups {
			left += len(groups[i].Calls)
		}
	}
	return runs
}

// next takes the next run from a group.
func next(g *combine.Group[string, call]) run {
	n := 1
	for n < len(g.Calls) && g.Calls[n].limits == g.Calls[0].limits {
		n++
	}
	r := run{script.Calls{State: g.Key, Limits: g.Calls[0].limits, N: n}, g.Calls[:n]}
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

// decideRuns sends runs and reads the replies.
func (s *Store) decideRuns(ctx context.Context, runs []run, packed bool) {
	sent := s.elapsed()
	var room [1]command
	commands := room[:0]
	for i := 0; i < len(runs); {
		end, work := i+1, runs[i].work()
		for packed && end < len(runs) && work+runs[end].work() <= maxWork {
			work += runs[end].work()
			end++
		}
		commands = append(commands, s.command(ctx, runs[i:end]))
		i = end
	}
	s.process(ctx, commands)
	heard := s.elapsed()
	for i := range commands {
		if err := commands[i].read(sent, heard); err != nil {
			s.lost(err)
			commands[i].fail(classify(err))
		}
	}
}

// command is an EVALSHA of take, and its runs.
type command struct {
	once
	runs []run
}

func (s *Store) command(ctx context.Context, runs []run) command {
	var room [1]script.Calls
	calls := room[:0]
	for i := range runs {
		calls = append(calls, runs[i].Calls)
	}
	args := script.ManyArgs(calls, s.clock(), rediskey.Log)
	args[0], args[1] = "evalsha", script.Take.SHA
	return command{once{redis.NewCmd(ctx, args...)}, runs}
}

// process sends commands in one write. It sends those with an unknown hash again, as text.
func (s *Store) process(ctx context.Context, commands []command) {
	s.exec(ctx, commands)
	var again []command
	for i := range commands {
		c := &commands[i]
		if err := c.Err(); err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			args := c.Args()
			args[0], args[1] = "eval", script.Take.Body
			s.restores.Store(false)
			c.once = once{redis.NewCmd(ctx, args...)}
			again = append(again, *c)
		}
	}
	if len(again) > 0 {
		s.exec(ctx, again)
	}
}

func (s *Store) exec(ctx context.Context, commands []command) {
	if s.closed.Load() {
		for i := range commands {
			commands[i].SetErr(ErrClosed)
		}
		return
	}
	if len(commands) == 1 {
		if err := s.client.Process(ctx, commands[0].once); err != nil {
			commands[0].SetErr(err)
		}
		return
	}
	pipe := s.client.Pipeline()
	for i := range commands {
		_ = pipe.Process(ctx, commands[i].once)
	}
	_, err := pipe.Exec(ctx)
	for i := range commands {
		if c := &commands[i]; err != nil && c.Err() == nil && c.Val() == nil {
			c.SetErr(err)
		}
	}
}

// read sets the answers of the calls.
func (c *command) read(sent, heard time.Duration) error {
	if err := c.Err(); err != nil {
		return err
	}
	list := script.NewReply(c.Val())
	now := list.Number()
	for i := range c.runs {
		r := &c.runs[i]
		a := &answer{now: now, seen: r.Seen, sent: sent, heard: heard}
		a.Answer = list.Answer(r.Limits, r.N, a.states[:0], now)
		for j, of := range r.calls {
			of.answer, of.place, of.err = a, int64(j), nil // An earlier error may have been of another key.
		}
	}
	return list.End()
}

// fail sets the error of the calls.
func (c *command) fail(err error) {
	for i := range c.runs {
		for _, of := range c.runs[i].calls {
			of.answer, of.err = nil, err
		}
	}
}
