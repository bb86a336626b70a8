package plancache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/plancache"
)

// database is what plans are looked up in. It takes a second to answer, or as
// long as its caller waits while it hangs.
type database struct {
	mu    sync.Mutex
	plans map[string]string
	err   error
	hangs bool
	asked atomic.Int64
}

var errAway = errors.New("the database is away")

func (d *database) lookup(ctx context.Context, key string) (string, error) {
	d.asked.Add(1)
	d.mu.Lock()
	plan, err, hangs := d.plans[key], d.err, d.hangs
	d.mu.Unlock()
	answer := time.After(time.Second)
	if hangs {
		answer = nil
	}
	select {
	case <-answer:
		return plan, err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (d *database) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// The times of the cache in these tests.
const (
	ttl, stale     = time.Minute, time.Hour
	timeout, retry = 3 * time.Second, 10 * time.Second
)

// in runs a test in a bubble, with a database that has a few plans.
func in(t *testing.T, test func(t *testing.T, d *database, c *plancache.Cache[string])) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{plans: map[string]string{"ann": "pro", "bob": "free"}}
		test(t, d, newCache(t, plancache.Config[string]{Lookup: d.lookup, Stale: stale}))
	})
}

func newCache(t *testing.T, cfg plancache.Config[string]) *plancache.Cache[string] {
	t.Helper()
	cfg.TTL, cfg.Timeout, cfg.Retry = ttl, timeout, retry
	c, err := plancache.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// want checks an answer and how long it took.
func want(t *testing.T, c *plancache.Cache[string], key, plan string, err error, took time.Duration) {
	t.Helper()
	began := time.Now()
	got, gotErr := c.Get(t.Context(), key)
	if got != plan || !errors.Is(gotErr, err) || time.Since(began) != took {
		t.Errorf("Get(%s) = %q, %v after %v; want %q, %v after %v", key, got, gotErr, time.Since(began), plan, err, took)
	}
}

func asked(t *testing.T, d *database, want int64) {
	t.Helper()
	if got := d.asked.Swap(0); got != want {
		t.Errorf("%d lookups, want %d", got, want)
	}
}

func TestAnAnswerIsKeptForTheTTL(t *testing.T) {
	in(t, func(t *testing.T, d *database, c *plancache.Cache[string]) {
		want(t, c, "ann", "pro", nil, time.Second)
		d.set(func() { d.plans["ann"] = "free" })
		time.Sleep(ttl - time.Second - 1) // it counts from the lookup's beginning
		want(t, c, "ann", "pro", nil, 0)
		asked(t, d, 1)
		time.Sleep(1 * time.Nanosecond)
		want(t, c, "ann", "free", nil, time.Second)
		asked(t, d, 1)
	})
}

func TestThatThereIsNoPlanIsKeptToo(t *testing.T) {
	in(t, func(t *testing.T, d *database, c *plancache.Cache[string]) {
		want(t, c, "eve", "", nil, time.Second)
		want(t, c, "eve", "", nil, 0)
		asked(t, d, 1)
	})
}

func TestForgetHasTheNextCallAsk(t *testing.T) {
	in(t, func(t *testing.T, d *database, c *plancache.Cache[string]) {
		want(t, c, "ann", "pro", nil, time.Second)
		want(t, c, "bob", "free", nil, time.Second)
		d.set(func() { d.plans["ann"], d.plans["bob"] = "gold", "gold" })
		c.Forget("ann")
		want(t, c, "ann", "gold", nil, time.Second)
		want(t, c, "bob", "free", nil, 0)
		c.ForgetAll()
		want(t, c, "bob", "gold", nil, time.Second)
	})
}

func TestALookupThatBeganBeforeForgetIsNotKept(t *testing.T) {
	in(t, func(t *testing.T, d *database, c *plancache.Cache[string]) {
		var done sync.WaitGroup
		done.Go(func() { want(t, c, "ann", "pro", nil, time.Second) })
		time.Sleep(time.Second / 2)
		d.set(func() { d.plans["ann"] = "gold" })
		c.Forget("ann")
		done.Go(func() { want(t, c, "ann", "gold", nil, time.Second) }) // and not in half a second
		time.Sleep(3 * time.Second / 4)
		want(t, c, "ann", "gold", nil, time.Second/4) // the first is over
		done.Wait()
		want(t, c, "ann", "gold", nil, 0)
		asked(t, d, 2)
	})
}

func TestRequestsOfAKeyShareALookupAndThoseOfOthersDoNotWait(t *testing.T) {
	in(t, func(t *testing.T, d *database, c *plancache.Cache[string]) {
		var done sync.WaitGroup
		for range 100 {
			done.Go(func() { want(t, c, "ann", "pro", nil, time.Second) })
			done.Go(func() { want(t, c, "bob", "free", nil, time.Second) })
		}
		done.Wait()
		asked(t, d, 2)
	})
}

func TestACallerThatLeavesFailsNobodyElse(t *testing.T) {
	in(t, func(t *testing.T, d *database, c *plancache.Cache[string]) {
		var done sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 { // the one that looks up, and one that waits for it
			done.Go(func() {
				if plan, err := c.Get(ctx, "ann"); !errors.Is(err, context.Canceled) || plan != "" {
					t.Errorf("who left got %q, %v", plan, err)
				}
			})
			synctest.Wait()
		}
		for range 10 {
			done.Go(func() { want(t, c, "ann", "pro", nil, 1500*time.Millisecond) })
		}
		time.Sleep(time.Second / 2)
		cancel()
		done.Wait()
		asked(t, d, 2)
		if plan, err := c.Get(ctx, "ann"); plan != "pro" || err != nil {
			t.Errorf("what is kept needs no context, but got %q, %v", plan, err)
		}
	})
}

func TestALookupThatPanicsLetsOthersTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		c := newCache(t, plancache.Config[string]{Lookup: func(context.Context, string) (string, error) {
			time.Sleep(time.Second)
			if calls.Add(1) == 1 {
				panic("a mistake")
			}
			return "pro", nil
		}})
		var done sync.WaitGroup
		done.Go(func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is gone")
				}
			}()
			_, _ = c.Get(t.Context(), "ann")
		})
		synctest.Wait()
		want(t, c, "ann", "pro", nil, 2*time.Second)
		done.Wait()
	})
}

func TestALastAnswerIsReturnedWhileLookupsFailUntilItIsTooOld(t *testing.T) {
	in(t, func(t *testing.T, d *database, c *plancache.Cache[string]) {
		want(t, c, "ann", "pro", nil, time.Second)
		time.Sleep(ttl)
		asked(t, d, 1)
		d.set(func() { d.err = errAway })
		want(t, c, "ann", "pro", nil, time.Second)
		want(t, c, "ann", "pro", nil, 0)
		time.Sleep(retry)
		want(t, c, "ann", "pro", nil, time.Second)
		asked(t, d, 2)
		time.Sleep(stale)
		want(t, c, "ann", "", errAway, time.Second)
		want(t, c, "ann", "", errAway, 0) // it is known to fail
		asked(t, d, 1)
		d.set(func() { d.err = nil })
		time.Sleep(retry)
		want(t, c, "ann", "pro", nil, time.Second)
	})
}

func TestAnOutageDelaysOneRequestInEachRetry(t *testing.T) {
	for name, patience := range map[string]time.Duration{
		"requests that wait for long":            time.Minute,
		"requests that end before the lookup is": timeout / 2,
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, d *database, c *plancache.Cache[string]) {
				const users = 50
				for i := range users {
					want(t, c, fmt.Sprint(i), "", nil, time.Second)
				}
				d.set(func() { d.hangs = true })
				time.Sleep(2 * ttl)
				asked(t, d, users)
				delayed := 0
				for began := time.Now(); time.Since(began) < 10*retry; time.Sleep(100 * time.Millisecond) {
					for i := range users {
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						began := time.Now()
						if _, err := c.Get(ctx, fmt.Sprint(i)); err != nil && patience > timeout {
							t.Error(err)
						}
						cancel()
						if time.Since(began) > 0 {
							delayed++
						}
					}
				}
				if delayed < 5 || delayed > 10 {
					t.Errorf("%d requests were delayed in ten times Retry", delayed)
				}
				asked(t, d, int64(delayed))
				time.Sleep(2 * retry)
				var done sync.WaitGroup
				for i := range users {
					done.Go(func() { _, _ = c.Get(t.Context(), fmt.Sprint(i)) })
				}
				done.Wait()
				asked(t, d, 1)
				d.set(func() { d.hangs = false })
				time.Sleep(2 * retry)
				for i := range users { // all ask again
					want(t, c, fmt.Sprint(i), "", nil, time.Second)
				}
			})
		})
	}
}

func TestKeysWhoseLookupsFailDoNotKeepOthersStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, plancache.Config[string]{Stale: stale, Lookup: func(_ context.Context, key string) (string, error) {
			if key == "ann" {
				return time.Now().String(), nil
			}
			return "", errAway
		}})
		old, _ := c.Get(t.Context(), "ann")
		time.Sleep(2 * ttl)
		for i := range 20 {
			_, _ = c.Get(t.Context(), fmt.Sprint(i))
			time.Sleep(retry / 5)
			if plan, _ := c.Get(t.Context(), "ann"); plan != old {
				return
			}
		}
		t.Error("a plan was not looked up for four times Retry")
	})
}

func TestErrorsDoNotTakeThePlaceOfAnswersThatCanStillBeUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{plans: map[string]string{}}
		c := newCache(t, plancache.Config[string]{Lookup: d.lookup, Stale: stale, MaxEntries: 50})
		for i := range 40 {
			want(t, c, fmt.Sprint(i), "", nil, time.Second)
		}
		time.Sleep(ttl)
		d.set(func() { d.err = errAway })
		for i := range 200 {
			want(t, c, fmt.Sprint("unknown ", i), "", errAway, time.Second)
		}
		asked(t, d, 240)
		if c.Len() != 50 {
			t.Errorf("%d answers are kept", c.Len())
		}
		for i := range 40 {
			if plan, err := c.Get(t.Context(), fmt.Sprint(i)); err != nil {
				t.Errorf("%q, %v for the %dth that was known", plan, err, i)
			}
		}
		time.Sleep(stale)
		for i := range 60 { // now they are of no use
			want(t, c, fmt.Sprint("later ", i), "", errAway, time.Second)
			want(t, c, fmt.Sprint("later ", i), "", errAway, 0)
		}
	})
}

func TestThoseWhoDoNotLookUpGetTheLastAnswerMeanwhile(t *testing.T) {
	in(t, func(t *testing.T, d *database, c *plancache.Cache[string]) {
		want(t, c, "ann", "pro", nil, time.Second)
		time.Sleep(ttl)
		d.set(func() { d.plans["ann"] = "gold" })
		var done sync.WaitGroup
		done.Go(func() { want(t, c, "ann", "gold", nil, time.Second) })
		synctest.Wait()
		want(t, c, "ann", "pro", nil, 0)
		done.Wait()
		want(t, c, "ann", "gold", nil, 0)
	})
}

func TestOnErrorIsToldOfWhatNoCallerSees(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{plans: map[string]string{"ann": "pro"}}
		var told []string
		c := newCache(t, plancache.Config[string]{Lookup: d.lookup, Stale: stale, OnError: func(key string, err error) {
			told = append(told, fmt.Sprint(key, ": ", err))
		}})
		want(t, c, "ann", "pro", nil, time.Second)
		time.Sleep(ttl)
		d.set(func() { d.err = errAway })
		want(t, c, "eve", "", errAway, time.Second)
		time.Sleep(retry)
		want(t, c, "ann", "pro", nil, time.Second)
		want(t, c, "ann", "pro", nil, 0)
		if fmt.Sprint(told) != "[ann: the database is away]" {
			t.Errorf("told %q", told)
		}
	})
}

func TestNoMoreAnswersAreKeptThanMaxEntries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, plancache.Config[string]{MaxEntries: 100, Lookup: func(_ context.Context, key string) (string, error) {
			if key[0] == '7' {
				return "", errAway
			}
			return key, nil
		}})
		for i := range 10_000 {
			key := fmt.Sprint(i)
			if got, err := c.Get(t.Context(), key); got != key && key[0] != '7' {
				t.Fatalf("Get(%s) = %q, %v", key, got, err)
			}
			if c.Len() > 100 {
				t.Fatalf("%d answers are kept", c.Len())
			}
		}
		if c.Len() != 100 {
			t.Errorf("%d answers are kept", c.Len())
		}
	})
}

func TestAWrongConfigurationNamesItsField(t *testing.T) {
	t.Parallel()
	lookup := func(context.Context, string) (int, error) { return 0, nil }
	for field, cfg := range map[string]plancache.Config[int]{
		"Lookup":     {TTL: 1},
		"TTL":        {Lookup: lookup},
		"Stale":      {Lookup: lookup, TTL: 1, Stale: -1},
		"Timeout":    {Lookup: lookup, TTL: 1, Timeout: -1},
		"Retry":      {Lookup: lookup, TTL: 1, Retry: -1},
		"MaxEntries": {Lookup: lookup, TTL: 1, MaxEntries: -1},
	} {
		_, err := plancache.New(cfg)
		if e := (*weir.ConfigError)(nil); !errors.As(err, &e) || e.Field != "plancache.Config."+field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestAnAnswerThatIsKeptCostsNoAllocation(t *testing.T) {
	c := newCache(t, plancache.Config[string]{Lookup: func(context.Context, string) (string, error) { return "pro", nil }})
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		if plan, err := c.Get(ctx, "ann"); plan != "pro" || err != nil {
			t.Error(plan, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Many callers, who forget and leave, never get the answer of another key.
func TestManyCallersAtOnce(t *testing.T) {
	t.Parallel()
	c, err := plancache.New(plancache.Config[string]{
		TTL: time.Microsecond, Stale: time.Microsecond, Retry: time.Microsecond, MaxEntries: 5,
		Lookup: func(ctx context.Context, key string) (string, error) {
			if time.Now().UnixNano()%3 == 0 {
				return "", errAway
			}
			return key, ctx.Err()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for worker := range 8 {
		done.Go(func() {
			for i := range 2000 {
				key := fmt.Sprint(i % 10)
				ctx, cancel := context.WithCancel(t.Context())
				if (i+worker)%7 == 0 {
					cancel()
				}
				if got, err := c.Get(ctx, key); err == nil && got != key {
					t.Errorf("Get(%s) = %q", key, got)
				}
				cancel()
				if (i+worker)%11 == 0 {
					c.Forget(key)
				}
			}
		})
	}
	done.Wait()
}
