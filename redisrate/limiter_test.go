package redisrate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/redisrate"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

func local(t *testing.T) store.Store {
	t.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestResults(t *testing.T) {
	limit := redisrate.Limit{Rate: 10, Burst: 5, Period: time.Second}
	type call struct {
		after  time.Duration
		atMost bool
		n      int
		want   redisrate.Result
	}
	for _, c := range []struct {
		name  string
		calls []call
	}{
		{"one by one", []call{
			{0, false, 1, redisrate.Result{Allowed: 1, Remaining: 4, RetryAfter: -1, ResetAfter: 100 * time.Millisecond}},
			{0, false, 4, redisrate.Result{Allowed: 4, Remaining: 0, RetryAfter: -1, ResetAfter: 500 * time.Millisecond}},
			{0, false, 1, redisrate.Result{RetryAfter: 100 * time.Millisecond, ResetAfter: 500 * time.Millisecond}},
			{100 * time.Millisecond, false, 1, redisrate.Result{Allowed: 1, RetryAfter: -1, ResetAfter: 500 * time.Millisecond}},
		}},
		{"a look", []call{
			{0, false, 2, redisrate.Result{Allowed: 2, Remaining: 3, RetryAfter: -1, ResetAfter: 200 * time.Millisecond}},
			{0, false, 0, redisrate.Result{Remaining: 3, RetryAfter: -1, ResetAfter: 200 * time.Millisecond}},
		}},
		{"over the burst", []call{
			{0, false, 6, redisrate.Result{Remaining: 5, RetryAfter: store.Never}},
		}},
		{"at most", []call{
			{0, true, 3, redisrate.Result{Allowed: 3, Remaining: 2, RetryAfter: -1, ResetAfter: 300 * time.Millisecond}},
			{50 * time.Millisecond, true, 9, redisrate.Result{Allowed: 2, Remaining: 0, RetryAfter: -1, ResetAfter: 450 * time.Millisecond}},
			{0, true, 9, redisrate.Result{RetryAfter: 50 * time.Millisecond, ResetAfter: 450 * time.Millisecond}},
			{50 * time.Millisecond, true, 9, redisrate.Result{Allowed: 1, RetryAfter: -1, ResetAfter: 500 * time.Millisecond}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := redisrate.Over(local(t))
				for i, step := range c.calls {
					time.Sleep(step.after)
					do := l.AllowN
					if step.atMost {
						do = l.AllowAtMost
					}
					got, err := do(t.Context(), "key", limit, step.n)
					step.want.Limit = limit
					if err != nil || *got != step.want {
						t.Errorf("call %d: %+v, %v, want %+v", i, got, err, step.want)
					}
				}
			})
		})
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	l := redisrate.Over(local(t))
	limit := redisrate.PerHour(1)
	for i, want := range []int{1, 0} {
		if r, err := l.Allow(t.Context(), "key", limit); err != nil || r.Allowed != want {
			t.Fatalf("call %d: %+v, %v, want %d allowed", i, r, err, want)
		}
	}
	if err := l.Reset(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Allow(t.Context(), "key", limit); err != nil || r.Allowed != 1 {
		t.Errorf("after a reset: %+v, %v, want 1 allowed", r, err)
	}
	if err := redisrate.Over(takeOnly{local(t)}).Reset(t.Context(), "key"); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("a store without Reset: %v, want ErrUnsupported", err)
	}
}

type takeOnly struct{ store.Store }

func TestMistakes(t *testing.T) {
	t.Parallel()
	good := redisrate.PerSecond(1)
	for _, c := range []struct {
		name  string
		l     *redisrate.Limiter
		limit redisrate.Limit
		n     int
		want  string
	}{
		{"no client", redisrate.NewLimiter(nil), good, 1, "redisstore.Config.Client: want a go-redis client, got nil"},
		{"no store", redisrate.Over(nil), good, 1, "redisrate.Limiter: want one of NewLimiter or Over, got one without a store"},
		{"zero limiter", new(redisrate.Limiter), good, 1, "redisrate.Limiter: want one of NewLimiter or Over, got one without a store"},
		{"zero limit", redisrate.Over(local(t)), redisrate.Limit{}, 1, "Limit.Burst: want 1 to 2^50, got 0"},
		{"no rate", redisrate.Over(local(t)), redisrate.Limit{Burst: 1, Period: time.Second}, 1, "Limit.Rate: want 1 to 2^50, got 0"},
		{"no period", redisrate.Over(local(t)), redisrate.Limit{Burst: 1, Rate: 1}, 1, "Limit.Period: want 1µs to 50 years, got 0s"},
		{"n below 0", redisrate.Over(local(t)), good, -1, "cost: want 0 or more, got -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, do := range map[string]func(context.Context, string, redisrate.Limit, int) (*redisrate.Result, error){
				"AllowN": c.l.AllowN, "AllowAtMost": c.l.AllowAtMost,
			} {
				r, err := do(t.Context(), "key", c.limit, c.n)
				var wrong *store.ConfigError
				if r != nil || !errors.As(err, &wrong) {
					t.Fatalf("%s: %v, %v, want a ConfigError", name, r, err)
				}
				if got := wrong.Field + ": want " + wrong.Want + ", got " + wrong.Got; got != c.want {
					t.Errorf("%s: %q, want %q", name, got, c.want)
				}
			}
		})
	}
	var none *redisrate.Limiter
	if err := none.Reset(t.Context(), "key"); err == nil {
		t.Error("Reset of a nil Limiter returned no error")
	}
}

// More than the burst costs no further question.
func TestAtMostAsksOnce(t *testing.T) {
	t.Parallel()
	s := weirtest.NewStore(local(t))
	r, err := redisrate.Over(s).AllowAtMost(t.Context(), "key", redisrate.PerSecond(9), 20)
	if n := s.Counts().Takes; err != nil || r.Allowed != 9 || n != 1 {
		t.Errorf("%+v, %v after %d questions, want 9 allowed after one", r, err, n)
	}
}

// Others take the units between the questions: the last one is about one unit.
func TestAtMostBeside(t *testing.T) {
	t.Parallel()
	s := weirtest.NewStore(local(t))
	l := redisrate.Over(s)
	refuse := weirtest.Decide(store.Decision{Reason: store.ReasonLimited, Remaining: 5, RetryAfter: time.Second})
	s.Next(refuse, refuse, refuse)
	r, err := l.AllowAtMost(t.Context(), "key", redisrate.PerSecond(9), 9)
	if err != nil || r.Allowed != 1 {
		t.Errorf("%+v, %v, want 1 allowed", r, err)
	}
	var costs []int64
	for _, req := range s.Requests() {
		costs = append(costs, req.Charges[0].Cost)
	}
	if len(costs) != 4 || costs[0] != 9 || costs[1] != 5 || costs[2] != 4 || costs[3] != 1 {
		t.Errorf("asked for %v, want 9, 5, 4, 1", costs)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit redisrate.Limit
		text  string
		zero  bool
	}{
		{redisrate.PerSecond(10), "10 req/s (burst 10)", false},
		{redisrate.PerMinute(2), "2 req/m (burst 2)", false},
		{redisrate.PerHour(3), "3 req/h (burst 3)", false},
		{redisrate.Limit{Rate: 25, Burst: 1, Period: 5 * time.Second}, "25 req/5s (burst 1)", false},
		{redisrate.Limit{}, "0 req/0s (burst 0)", true},
	} {
		if c.limit.String() != c.text || c.limit.IsZero() != c.zero {
			t.Errorf("%q, zero %v, want %q, %v", c.limit, c.limit.IsZero(), c.text, c.zero)
		}
	}
}
