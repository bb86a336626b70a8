package line

import (
	"context"
	"time"
)

const (
	// GiveBackTimeout bounds each call of the store for a context that is over. When the
	// failed calls of a key have taken that long together, the rest of its slots is
	// abandoned: they go unused, and no limit is exceeded.
	GiveBackTimeout = 5 * time.Second
	// Grace is how long a call waits for its own calls of the store that run in the
	// background. A healthy store needs less. So a program that ends with its contexts
	// cuts no give-back off, and a slow store does not hold it up.
	Grace = 20 * time.Millisecond
)

// Linger waits until background calls of the store are done, but not longer than
// Grace. Nil channels are done.
func Linger(calls ...<-chan struct{}) {
	var grace <-chan time.Time
	for _, done := range calls {
		if done == nil {
			continue
		}
		if grace == nil {
			grace = time.After(Grace)
		}
		select {
		case <-done:
		case <-grace:
			return
		}
	}
}

// InOrder books n limits one after the other, the narrowest first, and waits for each: a
// call that waits on a narrow limit holds nothing of a wider one. If one fails, or panics,
// InOrder gives back the booked ones, the widest first. It waits for the channels of
// giveBack, which are closed afterwards, if stay returns true; a nil stay: never.
func InOrder(ctx context.Context, n int, book func(i int) error, giveBack func(i int) <-chan struct{}, stay func(error) bool) (err error) {
	booked := 0
	defer func() {
		if booked == n {
			return
		}
		backs := make([]<-chan struct{}, 0, booked)
		for i := booked - 1; i >= 0; i-- {
			if back := giveBack(i); back != nil {
				backs = append(backs, back)
			}
		}
		if err != nil && stay != nil && stay(err) {
			for _, back := range backs {
				select {
				case <-back:
				case <-ctx.Done():
				}
			}
		}
		Linger(backs...)
	}()
	for ; booked < n; booked++ {
		if err = book(booked); err != nil {
			return err
		}
	}
	return nil
}
