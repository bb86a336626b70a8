package line

import (
	"context"
	"time"
)

const (
	// GiveBackTimeout bounds each call of the store for a context that is over. When the
	// failed calls of a line have taken that long together, the line abandons the rest of
	// its slots: they go unused, and no limit is exceeded.
	GiveBackTimeout = 5 * time.Second
	// Grace is how long a call waits for its own calls of the store that run in the
	// background. A healthy store needs less. So a program that ends with its contexts
	// cuts no give-back off, and a slow store does not hold it up.
	Grace = 20 * time.Millisecond
)

// surplus is a slot on its way back to the store.
type surplus struct {
	ctx     context.Context // the leaver's, for its values
	receipt any
	done    chan struct{}
}

// giveAllBack gives back the slots that next returns, until it returns none.
func giveAllBack(next func() []surplus, cancel func(surplus) error) {
	var failed time.Duration
	for batch := next(); len(batch) > 0; batch = next() {
		for _, s := range batch {
			start := time.Now()
			if failed < GiveBackTimeout && cancel(s) != nil {
				failed += time.Since(start)
			}
			close(s.done)
		}
	}
}

// Linger waits until background calls of the store are done, but not longer than
// Grace. Nil channels are done.
func Linger(calls ...<-chan struct{}) {
	var timer *time.Timer
	for _, done := range calls {
		if done == nil {
			continue
		}
		if timer == nil {
			timer = time.NewTimer(Grace)
			defer timer.Stop()
		}
		select {
		case <-done:
		case <-timer.C:
			return
		}
	}
}
