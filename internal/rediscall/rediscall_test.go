package rediscall

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestGiveBack: units are given back after the end of a context, too. The call stays for a
// moment then.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	for name, c := range map[string]struct {
		takes, stays time.Duration
		want         error
	}{
		"at once":             {0, 0, failure},
		"soon after the end":  {time.Second + Grace/2, time.Second + Grace/2, context.DeadlineExceeded},
		"long after the end":  {3 * time.Second, time.Second + Grace, context.DeadlineExceeded},
		"not within the time": {time.Minute, time.Second + Grace, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start, ended := time.Now(), time.Duration(0)
				err := GiveBack(ctx, func(ctx context.Context) error {
					defer func() { ended = time.Since(start) }()
					select {
					case <-time.After(c.takes):
						return failure
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				if stayed := time.Since(start); !errors.Is(err, c.want) || stayed != c.stays {
					t.Errorf("%v after %v, want %v after %v", err, stayed, c.want, c.stays)
				}
				time.Sleep(timeout)
				synctest.Wait()
				if want := min(c.takes, timeout); ended != want {
					t.Errorf("ended after %v, want %v", ended, want)
				}
			})
		})
	}
}
