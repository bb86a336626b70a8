package redisstore

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/goweir/weir/store/redisstore/internal/script"
	"github.com/redis/go-redis/v9"
)

// once is a command that go-redis never sends a second time: after a lost reply the server
// may have carried it out.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// processor is a client, or one of its nodes.
type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// send sends a command once.
func (s *Store) send(ctx context.Context, to processor, args ...any) (any, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	cmd := once{redis.NewCmd(ctx, args...)}
	err := to.Process(ctx, cmd)
	return cmd.Val(), err
}

// While a cluster moves a slot, a server refuses calls if it has only some of their keys. It
// decides nothing then, so the call is repeated a few times.
const (
	splitTries = 5
	splitPause = 5 * time.Millisecond
)

// run runs a script by its hash, or by its text if the server does not know the hash. It sets
// the first two of args.
func (s *Store) run(ctx context.Context, text *script.Text, args []any) (any, error) {
	reply, err := s.eval(ctx, text, args)
	for try := 1; isSplit(err) && try < splitTries && ctx.Err() == nil; try++ {
		timer := time.NewTimer(splitPause << try)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		reply, err = s.eval(ctx, text, args)
	}
	if err != nil {
		s.lost(err)
		return nil, classify(err)
	}
	return reply, nil
}

func (s *Store) eval(ctx context.Context, text *script.Text, args []any) (any, error) {
	args[0], args[1] = "evalsha", text.SHA
	reply, err := s.send(ctx, s.client, args...)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		s.restores.Store(false)
		args[0], args[1] = "eval", text.Body
		reply, err = s.send(ctx, s.client, args...)
	}
	return reply, err
}

// lost drops remembered refusals if the server may be another one. An answer, and the end of
// a context or a timeout, keep them.
func (s *Store) lost(err error) {
	var answered redis.Error
	var timeout net.Error
	if errors.As(err, &answered) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return
	}
	s.restores.Store(false)
	s.denials.Lose()
}

// clock returns the first argument of every script.
func (s *Store) clock() any {
	switch {
	case s.now != nil:
		return strconv.FormatInt(s.now(), 10) + "+"
	case s.passTime:
		return time.Now().UnixMicro()
	}
	return ""
}
