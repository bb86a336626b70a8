package migration

import (
	"context"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/redisrate"
	"github.com/goweir/weir/store/redisstore"
)

// rateLimiter has the calls of redis_rate, for the original and for ours.
type rateLimiter interface {
	AllowN(ctx context.Context, key string, n int) (result, error)
	AllowAtMost(ctx context.Context, key string, n int) (result, error)
	Reset(ctx context.Context, key string) error
}

type result struct {
	allowed, remaining     int
	retryAfter, resetAfter time.Duration
}

type original struct {
	*redis_rate.Limiter
	limit redis_rate.Limit
}

func (o original) AllowN(ctx context.Context, key string, n int) (result, error) {
	r, err := o.Limiter.AllowN(ctx, key, o.limit, n)
	if err != nil {
		return result{}, err
	}
	return result{r.Allowed, r.Remaining, r.RetryAfter, r.ResetAfter}, nil
}

func (o original) AllowAtMost(ctx context.Context, key string, n int) (result, error) {
	r, err := o.Limiter.AllowAtMost(ctx, key, o.limit, n)
	if err != nil {
		return result{}, err
	}
	return result{r.Allowed, r.Remaining, r.RetryAfter, r.ResetAfter}, nil
}

type ours struct {
	*redisrate.Limiter
	limit redisrate.Limit
}

func (o ours) AllowN(ctx context.Context, key string, n int) (result, error) {
	r, err := o.Limiter.AllowN(ctx, key, o.limit, n)
	if err != nil {
		return result{}, err
	}
	return result{r.Allowed, r.Remaining, r.RetryAfter, r.ResetAfter}, nil
}

func (o ours) AllowAtMost(ctx context.Context, key string, n int) (result, error) {
	r, err := o.Limiter.AllowAtMost(ctx, key, o.limit, n)
	if err != nil {
		return result{}, err
	}
	return result{r.Allowed, r.Remaining, r.RetryAfter, r.ResetAfter}, nil
}

// The two calls are moments apart, so times may differ a little. The original's Remaining
// may be one too few.
func TestRedisRateBeside(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	before := original{redis_rate.NewLimiter(client), redis_rate.Limit{Rate: 100, Burst: 10, Period: time.Hour}}
	after := ours{redisrate.NewLimiter(client), redisrate.Limit(before.limit)}
	near := func(a, b time.Duration) bool { return (a - b).Abs() < time.Second }
	for i, step := range []struct {
		call string
		n    int
		want result
	}{
		{"AllowN", 1, result{1, 9, -1, 36 * time.Second}},
		{"AllowN", 4, result{4, 5, -1, 180 * time.Second}},
		{"AllowN", 0, result{0, 5, -1, 180 * time.Second}},
		{"AllowAtMost", 3, result{3, 2, -1, 288 * time.Second}},
		{"AllowN", 2, result{2, 0, -1, 360 * time.Second}},
		{"AllowN", 1, result{0, 0, 36 * time.Second, 360 * time.Second}},
		{"AllowAtMost", 5, result{0, 0, 36 * time.Second, 360 * time.Second}},
		{"Reset", 0, result{}},
		{"AllowAtMost", 20, result{10, 0, -1, 360 * time.Second}},
	} {
		for name, l := range map[string]rateLimiter{"before": before, "after": after} {
			var got result
			var err error
			switch step.call {
			case "AllowN":
				got, err = l.AllowN(t.Context(), "key", step.n)
			case "AllowAtMost":
				got, err = l.AllowAtMost(t.Context(), "key", step.n)
			case "Reset":
				err = l.Reset(t.Context(), "key")
			}
			remaining := got.remaining == step.want.remaining || name == "before" && got.remaining == step.want.remaining-1
			if err != nil || got.allowed != step.want.allowed || !remaining ||
				!near(got.retryAfter, step.want.retryAfter) || !near(got.resetAfter, step.want.resetAfter) {
				t.Errorf("step %d, %s(%d) %s: %+v, %v, want %+v", i, step.call, step.n, name, got, err, step.want)
			}
		}
	}
}

// Before, a cost over the burst gets a finite wait, which is useless; after, none.
func TestRedisRateOverTheBurst(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	limit := redis_rate.PerHour(10)
	before, err := redis_rate.NewLimiter(client).AllowN(t.Context(), "key", limit, 11)
	if err != nil || before.Allowed != 0 || before.RetryAfter > time.Hour {
		t.Errorf("before: %+v, %v, want a refusal with a time", before, err)
	}
	after, err := redisrate.NewLimiter(client).AllowN(t.Context(), "key", redisrate.Limit(limit), 11)
	if err != nil || after.Allowed != 0 || after.RetryAfter != 1<<63-1 {
		t.Errorf("after: %+v, %v, want a refusal for ever", after, err)
	}
}

// Before, a refusal says that nothing remains, and AllowAtMost of 0 may be refused.
func TestRedisRateOfLittle(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	before := original{redis_rate.NewLimiter(client), redis_rate.PerHour(3)}
	after := ours{redisrate.NewLimiter(client), redisrate.PerHour(3)}
	for i, step := range []struct {
		do            func(l rateLimiter, n int) (result, error)
		n             int
		before, after result // without times but -1
	}{
		{takeAll, 1, result{1, 2, -1, 0}, result{1, 2, -1, 0}},
		{takeAll, 3, result{0, 0, 0, 0}, result{0, 2, 0, 0}},
		{takeAll, 2, result{2, 0, -1, 0}, result{2, 0, -1, 0}},
		{takeSome, 0, result{0, 0, 0, 0}, result{0, 0, -1, 0}},
	} {
		for l, want := range map[rateLimiter]result{before: step.before, after: step.after} {
			got, err := step.do(l, step.n)
			got.retryAfter, got.resetAfter = min(got.retryAfter, 0), 0
			if l == before && got.remaining == want.remaining-1 {
				got.remaining++ // often one too few
			}
			if err != nil || got != want {
				t.Errorf("step %d, %T: %+v, %v, want %+v", i, l, got, err, want)
			}
		}
	}
}

func takeAll(l rateLimiter, n int) (result, error) { return l.AllowN(context.Background(), "key", n) }
func takeSome(l rateLimiter, n int) (result, error) {
	return l.AllowAtMost(context.Background(), "key", n)
}

// The three functions of the page admit 10 at once, and refuse the 11th.
func TestRedisRateFunctions(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	projects := must(newProjects(must(redisstore.New(redisstore.Config{Client: client}))))
	for name, allow := range map[string]func(ctx context.Context, project string) (time.Duration, error){
		"before": func(ctx context.Context, p string) (time.Duration, error) {
			return redisRateBefore(ctx, redis_rate.NewLimiter(client), p)
		},
		"by import": func(ctx context.Context, p string) (time.Duration, error) {
			return redisRateByImport(ctx, redisrate.NewLimiter(client), p)
		},
		"after": func(ctx context.Context, p string) (time.Duration, error) { return redisRateAfter(ctx, projects, p) },
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			admitted := 0
			for range 13 {
				wait, err := allow(t.Context(), "123")
				if err != nil || wait > 100*time.Millisecond {
					t.Fatalf("wait %v, %v", wait, err)
				}
				if wait == 0 {
					admitted++
				}
			}
			if more := int(time.Since(start) / (100 * time.Millisecond)); admitted < 10 || admitted > 11+more {
				t.Errorf("%d calls were admitted in %v, want 10", admitted, time.Since(start))
			}
		})
	}
}
