package fallback

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

// aside is a call of the primary on a goroutine of its own: a client may heed neither its
// context nor a budget. It is a store.Started.
type aside struct {
	done   chan struct{} // gets a value with an answer in time
	over   atomic.Bool   // the answer is there, or the caller has left
	cancel context.CancelFunc
	d      store.Decision
	err    error
}

// besides starts the call. The client's context ends with the patience, so the client
// sends nothing late.
func (a *attempt) besides(ctx context.Context) *aside {
	c := &aside{done: make(chan struct{}, 1)}
	ctx, c.cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Until(a.end.At)+a.store.cfg.Budget)
	go func() {
		defer c.cancel()
		if c.d, c.err = a.ask(ctx); c.err != nil && ctx.Err() != nil {
			c.err = errBudget
		}
		if c.over.CompareAndSwap(false, true) {
			c.done <- struct{}{}
		} else if c.err == nil {
			a.giveBack(ctx, &c.d)
		}
	}()
	return c
}

// Done implements [store.Started], like the methods below.
func (c *aside) Done() <-chan struct{} { return c.done }

func (c *aside) Decision() (d store.Decision, done bool, err error) { return c.d, true, c.err }

func (c *aside) Leave() bool {
	left := c.over.CompareAndSwap(false, true)
	if left {
		c.cancel()
	}
	return left
}
