package redistest

import (
	"fmt"
	"testing"
	"time"
)

const (
	// startTimeout is the maximum time from a server's start to its first answer.
	startTimeout = 10 * time.Second
	// patience is the maximum of every other wait for servers. A sentinel of a busy machine
	// that did not run for two seconds does nothing for thirty.
	patience = time.Minute
)

// poll calls cond, less and less often, until it returns nil. It gives up when the time
// is over or done is closed, and returns the last error. done may be nil.
func poll(timeout time.Duration, done <-chan struct{}, cond func() error) error {
	deadline := time.Now().Add(timeout)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := cond()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %w", timeout, err)
		}
		select {
		case <-done:
			return err
		case <-time.After(pause):
		}
	}
}

// await fails the test if cond keeps returning errors.
func await(tb testing.TB, what string, cond func() error) {
	tb.Helper()
	if err := poll(patience, nil, cond); err != nil {
		tb.Fatalf("redistest: %s: %v", what, err)
	}
}
