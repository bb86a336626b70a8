package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goweir/weir/internal/exact"
)

const (
	// handBackTimeout bounds how long it is tried to give back what one request
	// has taken.
	handBackTimeout = 5 * time.Second
	// handBackGrace is how long a call whose context has ended stays to see that
	// done: time enough for servers that are well.
	handBackGrace = 20 * time.Millisecond
)

// handBack gives back what a request has taken of the parts so far, the widest
// first.
func (s *Store) handBack(ctx context.Context, parts []part) error {
	taken := taken(parts)
	if len(taken) == 0 {
		return nil
	}
	return seeThrough(ctx, func(ctx context.Context) error {
		return s.settleParts(ctx, taken, func(int) int64 { return 0 })
	})
}

// seeThrough runs what gives something back. Where the context has ended that goes
// on without the caller, who is told of the context's end.
func seeThrough(ctx context.Context, giveBack func(context.Context) error) error {
	done := make(chan error, 1)
	go func() {
		timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackTimeout)
		defer cancel()
		done <- giveBack(timed)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	grace := time.NewTimer(handBackGrace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
	}
	return ctx.Err()
}

// taken returns the parts of which something was taken.
func taken(parts []part) []part {
	var list []part
	for _, p := range parts {
		if p.receipt != nil {
			list = append(list, p)
		}
	}
	return list
}

// settleParts corrects each part, the widest first, whatever becomes of the
// others.
func (s *Store) settleParts(ctx context.Context, parts []part, cost func(charge int) int64) error {
	var errs []error
	for i := len(parts) - 1; i >= 0; i-- {
		p := &parts[i]
		if err := s.settle(ctx, p.receipt, func(charge int) int64 { return cost(p.places[charge]) }); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// receipts is what cancelling or settling takes of a request that was decided
// key after key.
type receipts struct {
	parts   []part
	charges int
}

// correct settles at costs what a receipt is of.
func (s *Store) correct(ctx context.Context, op string, of any, costs ...int64) error {
	switch r := of.(type) {
	case *receipt:
		if r == nil {
			break
		}
		cost, err := exact.Settled(len(r.charges), costs)
		if err != nil {
			return err
		}
		return s.settle(ctx, r, cost)
	case *receipts:
		if r == nil {
			break
		}
		cost, err := exact.Settled(r.charges, costs)
		if err != nil {
			return err
		}
		return s.settleParts(ctx, taken(r.parts), cost)
	}
	return fmt.Errorf("redisstore: %s: a receipt of type %T is not of this store", op, of)
}
