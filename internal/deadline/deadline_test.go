package deadline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestBounds: the shorter of a longest wait and the deadline bounds a call.
func TestBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deadline, maxWait time.Duration // 0: none
		longest           time.Duration // 0: years
		byDeadline        bool
	}{
		"neither":               {},
		"a longest wait":        {maxWait: time.Second, longest: time.Second},
		"a deadline":            {deadline: time.Second, longest: time.Second, byDeadline: true},
		"the deadline is first": {deadline: time.Second, maxWait: time.Minute, longest: time.Second, byDeadline: true},
		"the wait is first":     {deadline: time.Minute, maxWait: time.Second, longest: time.Second},
		"both at once":          {deadline: time.Second, maxWait: time.Second, longest: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if c.deadline > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
				}
				defer cancel()
				now := time.Now()
				longest, byDeadline := deadline.Max(ctx, now, c.maxWait)
				if c.longest == 0 && longest < 365*24*time.Hour || c.longest > 0 && longest != c.longest || byDeadline != c.byDeadline {
					t.Errorf("longest %v, by the deadline: %v", longest, byDeadline)
				}
				if late := deadline.Passed(ctx, time.Second+1, now); late != (c.deadline == time.Second) {
					t.Errorf("a slot a second away is past the deadline: %v", late)
				}
			})
		})
	}
}

// TestEnded waits for a context whose deadline has passed to say so.
func TestEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := deadline.Ended(ctx); err != nil {
			t.Errorf("before the deadline: %v", err)
		}
		time.Sleep(time.Second)
		if err := deadline.Ended(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("at the deadline: %v", err)
		}
		if err := deadline.Ended(silent{t.Context(), time.Now()}); err != nil {
			t.Errorf("a context that never says so: %v", err)
		}
	})
}

// silent is a context that does not tell of its deadline.
type silent struct {
	context.Context
	at time.Time
}

func (s silent) Deadline() (time.Time, bool) { return s.at, true }

// TestSleep ends with the time or with the context.
func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := deadline.Sleep(t.Context(), time.Second); err != nil || time.Since(start) != time.Second {
			t.Errorf("slept %v, %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := deadline.Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Errorf("slept until %v, %v", time.Since(start), err)
		}
		if err := deadline.Sleep(ctx, 0); err == nil {
			t.Error("slept in a context that is over")
		}
	})
}
