package httpcases

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

func newStore() weir.Store {
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		panic(err) // the zero Config is valid
	}
	return s
}

// Always is a store that allows everything, for benchmarks of everything but the store.
type Always struct{}

// Take implements weir.Store.
func (Always) Take(_ context.Context, req store.Request) (store.Decision, error) {
	l := req.Charges[0].Limit
	return store.Decision{Allowed: true, Limit: l, Remaining: l.Max() - 1, ResetAfter: time.Second}, nil
}

// Counting is a store that counts its decisions.
type Counting struct {
	weir.Store
	Takes atomic.Int64
}

// NewCounting returns a store that limits and counts.
func NewCounting() *Counting { return &Counting{Store: newStore()} }

// Take implements weir.Store.
func (c *Counting) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	c.Takes.Add(1)
	return c.Store.Take(ctx, req)
}

// errSecret is a failure whose text no client may read.
var errSecret = errors.New("dial tcp 10.0.0.7:6379: connection refused")

// stepping returns a function for stores whose calls all take one step.
func stepping(step weirtest.Step) func() weir.Store {
	return func() weir.Store {
		s := weirtest.NewStore(newStore())
		s.Always(step)
		return s
	}
}

func failing(err error) func() weir.Store { return stepping(weirtest.Fail(err)) }

func deciding(d store.Decision) func() weir.Store { return stepping(weirtest.Decide(d)) }
