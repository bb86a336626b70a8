package weir_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// TestBackgroundReserve: a background call does not wait, so no bound on waiting
// refuses it.
func TestBackgroundReserve(t *testing.T) {
	t.Parallel()
	for name, maxWait := range map[string]time.Duration{"no longest wait": 0, "a longest wait": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1)}, MaxWait: maxWait})
				ctx, cancel := context.WithTimeout(weir.InBackground(t.Context()), time.Hour)
				defer cancel()
				if _, err := l.Reserve(ctx, "key"); err != nil {
					t.Fatal(err)
				}
				_, err := l.Reserve(ctx, "key")
				var limited *weir.LimitedError
				if !errors.As(err, &limited) || limited.Bound != weir.BoundNone || limited.RetryAfter != time.Second {
					t.Errorf("got %v, want a refusal without a bound", err)
				}
			})
		})
	}
}

// TestBackgroundFirstInLine is refused as soon as it is clear that its bound comes
// before it would ask again.
func TestBackgroundFirstInLine(t *testing.T) {
	t.Parallel()
	window := weir.Per(1, 3*time.Second).By(weir.SlidingWindow) // Asked again 5 ms after it is free.
	for name, test := range map[string]struct {
		limit             weir.Limit
		maxWait, deadline time.Duration
		after             time.Duration // when the call ends
		want              weir.Bound    // BoundNone: admitted
		retry             time.Duration
	}{
		"a window, MaxWait as it ends":          {window, 3 * time.Second, 0, 0, weir.BoundMaxWait, 3005 * ms},
		"a window, MaxWait before the courtesy": {window, 3004 * ms, 0, 0, weir.BoundMaxWait, 3005 * ms},
		"a window, MaxWait with the courtesy":   {window, 3005 * ms, 0, 3005 * ms, weir.BoundNone, 0},
		"a window, deadline as it ends":         {window, 0, 3 * time.Second, 0, weir.BoundDeadline, 3005 * ms},
		"a window, deadline with the courtesy":  {window, 0, 3005 * ms, 0, weir.BoundDeadline, 3005 * ms},
		"a window, deadline afterwards":         {window, 0, 3006 * ms, 3005 * ms, weir.BoundNone, 0},
		"a bucket, deadline at the slot":        {weir.Per(1, 3*time.Second), 0, 3 * time.Second, 0, weir.BoundDeadline, 3 * time.Second},
		"a bucket, MaxWait at the slot":         {weir.Per(1, 3*time.Second), 3 * time.Second, 0, 3 * time.Second, weir.BoundNone, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: []weir.Limit{test.limit}, MaxWait: test.maxWait})
				if err := l.Wait(t.Context(), "key"); err != nil {
					t.Fatal(err)
				}
				ctx := weir.InBackground(t.Context())
				if test.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.deadline)
					defer cancel()
				}
				start := time.Now()
				err := l.Wait(ctx, "key")
				if took := time.Since(start); took != test.after {
					t.Errorf("ended after %v, want %v", took, test.after)
				}
				var limited *weir.LimitedError
				switch {
				case test.want == weir.BoundNone && err != nil:
					t.Errorf("got %v, want it admitted", err)
				case test.want != weir.BoundNone && (!errors.As(err, &limited) || limited.Bound != test.want || limited.RetryAfter != test.retry):
					t.Errorf("got %v, want a refusal by bound %d, retry after %v", err, test.want, test.retry)
				}
			})
		})
	}
}

// TestBackgroundBehindTheFirst: what is told to a call that MaxWait refuses in line
// is what the first in line heard last.
func TestBackgroundBehindTheFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pause  time.Duration
		reason weir.Reason
		retry  time.Duration
	}{
		"limited": {0, weir.Limited, 7 * time.Second},
		"paused":  {8 * time.Second, weir.Paused, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.Per(1, 10*time.Second)}, MaxWait: 3 * time.Second})
				ctx := weir.InBackground(t.Context())
				if test.pause == 0 {
					if err := l.Wait(ctx, "key"); err != nil {
						t.Fatal(err)
					}
				} else if err := l.Pause(ctx, "key", test.pause); err != nil {
					t.Fatal(err)
				}
				go func() { _ = l.WaitMax(ctx, "key", 1, time.Minute) }()
				synctest.Wait()
				start := time.Now()
				err := l.Wait(ctx, "key")
				var limited *weir.LimitedError
				if !errors.As(err, &limited) || time.Since(start) != 3*time.Second {
					t.Fatalf("got %v after %v, want a refusal after MaxWait", err, time.Since(start))
				}
				if limited.Reason != test.reason || limited.Bound != weir.BoundMaxWait || limited.RetryAfter != test.retry {
					t.Errorf("got %+v, want %v, retry after %v", limited, test.reason, test.retry)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestBackgroundBehindAStoreThatHangs: nobody has heard anything.
func TestBackgroundBehindAStoreThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &gcraStore{before: func(int) time.Duration { return time.Minute }}
		l := newLimiter(t, s, func(c *weir.Config) { c.MaxWait = time.Second })
		ctx := weir.InBackground(t.Context())
		go func() { _ = l.Wait(ctx, "k") }()
		synctest.Wait()
		err := l.Wait(ctx, "k")
		var limited *weir.LimitedError
		if !errors.As(err, &limited) || limited.RetryAfter <= 0 || limited.Limit != l.Limits()[0] || strings.Contains(err.Error(), " 0s") {
			t.Errorf("got %v, want a refusal that says when to retry", err)
		}
		time.Sleep(time.Hour)
	})
}
