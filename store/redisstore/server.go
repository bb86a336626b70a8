package redisstore

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/rediscall"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/deny"
	"github.com/goweir/weir/store/redisstore/internal/script"
	"github.com/redis/go-redis/v9"
)

// server is the way to Redis, and the memory of its answers.
type server struct {
	client   redis.UniversalClient
	prefix   string
	now      func() int64 // see Config
	passTime bool
	closed   atomic.Bool
	// slotted: each key needs a call of its own, as no single server has all keys.
	slotted atomic.Bool
	turn    chan struct{} // holds one element while a call brings a script's text
	texts   atomic.Int64  // that calls have brought
	tags    atomic.Uint64
	denials deny.Table[*script.Limits, *answer]
}

// tag returns the tag of a booking with a receipt. It tells a key's state from one after a Reset.
func (s *server) tag() int64 { return int64(s.tags.Add(1)&(1<<32-1)) + 1 }

// name returns the name of a key's state in Redis.
func (s *server) name(scope, key string) string { return rediskey.State(s.prefix, scope, key) }

// byHash makes the arguments of a script call name the script by its hash.
func byHash(text *script.Text, args []any) []any {
	args[0], args[1] = "evalsha", text.Hash
	return args
}

// ended returns the error of all calls of a Store that is closed, or that New has not made.
func (s *server) ended() error {
	switch {
	case s.client == nil:
		return &store.ConfigError{Field: "redisstore.Store", Want: "one made by New or Open", Got: "a zero one"}
	case s.closed.Load():
		return ErrClosed
	}
	return nil
}

// exec sends commands in one write.
func (s *server) exec(ctx context.Context, commands []rediscall.Once) {
	if err := s.ended(); err != nil {
		for _, c := range commands {
			c.SetErr(err)
		}
		return
	}
	if len(commands) == 1 {
		if err := s.client.Process(ctx, commands[0]); err != nil {
			commands[0].SetErr(err)
		}
		return
	}
	pipe := s.client.Pipeline()
	for _, c := range commands {
		_ = pipe.Process(ctx, c)
	}
	_, err := pipe.Exec(ctx)
	for _, c := range commands {
		if err != nil && c.Err() == nil && c.Val() == nil {
			c.SetErr(err)
		}
	}
}

// eval sends calls of a script in one write. It sends calls with an unknown hash again, at
// most 64 times: behind one address there may be many servers.
func (s *server) eval(ctx context.Context, text *script.Text, calls []rediscall.Once) {
	texts := s.texts.Load()
	s.exec(ctx, calls)
	for range 64 {
		var again []rediscall.Once
		for i, c := range calls {
			if begins(c.Err(), "NOSCRIPT") {
				calls[i] = rediscall.New(ctx, byHash(text, c.Args())...)
				again = append(again, calls[i])
			}
		}
		if len(again) == 0 {
			return
		}
		texts = s.evalAgain(ctx, text, again, texts)
	}
}

// evalAgain sends calls again, in turn: a thousand texts at once would hold up the server.
// The first call brings the text, unless another has brought one since the count of texts.
func (s *server) evalAgain(ctx context.Context, text *script.Text, calls []rediscall.Once, texts int64) int64 {
	select {
	case s.turn <- struct{}{}:
		if texts != s.texts.Load() {
			<-s.turn
			break
		}
		args := calls[0].Args()
		args[0], args[1] = "eval", text.Body
		defer func() { s.texts.Add(1); <-s.turn }()
	case <-ctx.Done():
	}
	texts = s.texts.Load()
	s.exec(ctx, calls)
	return texts
}

// While a cluster moves a slot, a server refuses calls if it has only some of their keys. It
// decides nothing then, so the call is repeated a few times.
const (
	splitTries = 5
	splitPause = 5 * time.Millisecond
)

// runScript runs a script. It sets the first two of args.
func (s *server) runScript(ctx context.Context, text *script.Text, args []any) *redis.Cmd {
	for try := 1; ; try++ {
		call := [1]rediscall.Once{rediscall.New(ctx, byHash(text, args)...)}
		s.eval(ctx, text, call[:])
		err := call[0].Err()
		if isSplit(err) && try < splitTries {
			if err = deadline.Sleep(ctx, splitPause<<try); err == nil {
				continue
			}
		}
		call[0].SetErr(s.failed(err))
		return call[0].Cmd
	}
}

// failed returns a meaningful error for an error of the client. It drops remembered refusals
// if the server may be another one. An answer, and the end of a context or a timeout, keep
// them.
func (s *server) failed(err error) error {
	if err == nil {
		return nil
	}
	var answered redis.Error
	var timeout net.Error
	keeps := errors.As(err, &answered) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if !keeps && (!errors.As(err, &timeout) || !timeout.Timeout()) {
		s.denials.Lose()
	}
	err = classify(err)
	if errors.Is(err, ErrCrossSlot) { // A proxy has shards.
		s.slotted.Store(true)
	}
	return err
}

// clock returns the first argument of every script.
func (s *server) clock() any {
	switch {
	case s.now != nil:
		return strconv.FormatInt(s.now(), 10) + "+"
	case s.passTime:
		return time.Now().UnixMicro()
	}
	return ""
}

// began is the start of this process, about.
var began = time.Now()

// elapsed is the clock of the store, which only counts.
func (s *server) elapsed() time.Duration {
	if s.now != nil {
		return time.Duration(s.now()) * time.Microsecond
	}
	return time.Since(began)
}
