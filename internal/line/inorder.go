package line

import "context"

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
			backs = append(backs, giveBack(i))
		}
		if err != nil && stay != nil && stay(err) {
			for _, back := range backs {
				if back == nil {
					continue
				}
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
