// Package rediscall sends commands for the stores over Redis.
package rediscall

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Once is a command that go-redis never sends a second time: after a lost reply the server
// may have carried it out.
type Once struct{ *redis.Cmd }

// NoRetry makes go-redis send the command once.
func (Once) NoRetry() bool { return true }

// New returns a command.
func New(ctx context.Context, args ...any) Once { return Once{redis.NewCmd(ctx, args...)} }

// timeout bounds the time for which a store tries to give the units of a call back.
const timeout = 5 * time.Second

// Grace is the time that a call stays for that after its context's end: healthy servers need
// less.
const Grace = 20 * time.Millisecond

// GiveBack runs f, which gives units back. After the end of ctx it goes on in the background,
// and the error is that of ctx.
func GiveBack(ctx context.Context, f func(context.Context) error) error {
	done := make(chan error, 1)
	go func() {
		timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		done <- f(timed)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(Grace):
	}
	return ctx.Err()
}
