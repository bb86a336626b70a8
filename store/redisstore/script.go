package redisstore

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The script is one: its parts are put together in the order of their names.
// The first decides the common case by itself, see fast.go; the second what is simple
// of the other calls that go in flights, see rules.go, and of those of several keys; the
// others are the whole. For these KEYS are, for each key of the request, its state and,
// when it has a sliding window, its log; then, when a lease is asked for, the leases of
// the first.
// ARGV is
//
//	[1] a test's clock in µs, or "" for the server's
//	[2] the longest delay in µs; for "calls" how many they are
//	[3] "take", "keep" (take, and return what settling needs), "peek", "look"
//	    (peek, and say what taking would meet), "calls" (take of one key, now or
//	    not at all, for each of them), "settle" (to a cost of 0: cancel), "renew" or
//	    "brake"
//
// then for each key: the signature of its limits, "1" if it has a log, the
// number of limits; for each limit: cost, most units at once, period in µs, and
// for GCRA cost·T and the capacity (whole µs and remainder each) and the
// denominator of the remainders; and for "settle": the slot, the key's value
// before and after the booking, and for each limit its real cost and for GCRA
// the time of the units that this differs by (whole µs and remainder); and at
// the end, when a lease is asked for, "hold", the most leases, the lease's ID,
// and how long it lives in µs. A "peek" with that is a request that takes a lease
// and no units. For "spare", "spare keep", "spare look" and "spare calls", which
// are "take", "keep", "look" and "calls" for charges that have to leave units, the
// end is for each limit what has to be free, and for GCRA the time that this takes
// (whole µs and remainder). For "brake" follow: 1 to lift, the pause, a cut's unit,
// recovery and instant, 1 to tell a gap, the gap, how long it lasts, the channel to
// publish on and the name that is published.
//
// The reply is "allowed now slot" and for each limit " slot a b c" (see
// exact.State), when a lease was asked for " full", 0 or the instant from which
// there is room for it, and where a brake is set " !" and for each key " set
// paused from gap told" (see exact.Braked), as one string; for "keep", when
// allowed, a list of that string and each key's value before and after; for "calls"
// see rules.go. A "renew" has the leases of KEYS[1] that ARGV[4] and so on name end
// ARGV[2] µs from now, and returns those that are not there.
//
//go:embed lua/*.lua
var parts embed.FS

var script, scriptSHA = func() (string, string) {
	names, err := parts.ReadDir("lua")
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	for _, name := range names {
		part, err := parts.ReadFile("lua/" + name.Name())
		if err != nil {
			panic(err)
		}
		b.Write(part)
	}
	sum := sha1.Sum([]byte(b.String()))
	return b.String(), hex.EncodeToString(sum[:])
}()

// once is a command that go-redis must not send a second time: when the answer
// is lost, nobody knows whether it was carried out.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

func newOnce(ctx context.Context, args ...any) once { return once{redis.NewCmd(ctx, args...)} }

// run sends a call by the script's hash, and by its text to a server that does
// not know it.
func (s *Store) run(ctx context.Context, c *call) (any, error) {
	cmd := newOnce(ctx, c.args("evalsha", scriptSHA)...)
	err := s.client.Process(ctx, cmd)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		cmd = newOnce(ctx, c.args("eval", script)...)
		err = s.client.Process(ctx, cmd)
	}
	if isSplit(err) {
		err = s.shared.unsplit(ctx, cmd.Args(), err, func(p processor, args []any) error {
			cmd = newOnce(ctx, args...)
			return p.Process(ctx, cmd)
		})
	}
	if err != nil {
		s.denials.failedFor(ctx, err)
		return nil, classify(err)
	}
	return cmd.Val(), nil
}

// split separates the two forms of a reply.
func split(reply any) (head string, values []string, err error) {
	switch r := reply.(type) {
	case string:
		return r, nil, nil
	case []any:
		values = make([]string, len(r))
		for i := range r {
			text, ok := r[i].(string)
			if !ok {
				return "", nil, fmt.Errorf("redisstore: reply element %d is a %T, want a string", i, r[i])
			}
			values[i] = text
		}
		if len(values) > 0 {
			return values[0], values[1:], nil
		}
	}
	return "", nil, errReply
}

var errReply = errors.New("redisstore: the script's reply is not what it should be")
