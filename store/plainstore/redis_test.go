package plainstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// TestRetryAfterIsTrue: calls that wait exactly RetryAfter succeed, at any part of a
// millisecond.
func TestRetryAfterIsTrue(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.Client(func(o *redis.Options) { o.PoolSize = 100 }))
	var refused, early atomic.Int64
	var wg sync.WaitGroup
	const callers, calls = 50, 10
	for caller := range callers {
		limits := []store.Limit{per(1, 80*time.Millisecond)}
		if caller%2 == 1 {
			limits = append(limits, per(1, 110*time.Millisecond))
		}
		wg.Go(func() {
			time.Sleep(time.Duration(caller) * 3 * time.Millisecond)
			for call := range calls {
				req := charge(fmt.Sprint(caller, call), 1, limits...)
				offset := time.Duration(call*callers+caller) * time.Millisecond / (callers * calls)
				until(time.Now().Truncate(time.Millisecond).Add(time.Millisecond + offset))
				take(t, s, req)
				d := take(t, s, req)
				decided := time.Now()
				if d.Allowed { // The machine was too slow for this window.
					early.Add(1)
					continue
				}
				until(decided.Add(d.RetryAfter))
				if d := take(t, s, req); !d.Allowed {
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if refused.Load() > 0 || early.Load() > callers*calls/2 {
		t.Errorf("of %d calls %d were refused after RetryAfter; %d were not refused before", callers*calls, refused.Load(), early.Load())
	}
}

// until returns at an instant, to the microsecond.
func until(at time.Time) {
	time.Sleep(time.Until(at) - time.Millisecond)
	for time.Until(at) > 0 {
	}
}

// TestUnitsOfAnEarlierWindow: units of a refused call are not taken out of a window that opened
// after the call.
func TestUnitsOfAnEarlierWindow(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	hour := per(100, time.Hour)
	for name, test := range map[string]struct {
		period time.Duration
		limits func(short store.Limit) []store.Limit
	}{
		"a short window":   {50 * time.Millisecond, func(short store.Limit) []store.Limit { return []store.Limit{short} }},
		"a shortest one":   {time.Millisecond, func(short store.Limit) []store.Limit { return []store.Limit{short} }},
		"a longer window":  {250 * time.Millisecond, func(short store.Limit) []store.Limit { return []store.Limit{short} }},
		"of several units": {250 * time.Millisecond, func(short store.Limit) []store.Limit { return []store.Limit{short, hour} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other, limits := newStore(t, server.Client()), test.limits(per(2, test.period))
			// The call after a full window is refused, unless the machine lets the window end.
			refused := func(key string) bool {
				c := server.Client()
				s := newStore(t, c)
				take(t, other, charge(key, 2, limits...))
				var late sync.Once
				c.AddHook(afterPipeline(func() {
					late.Do(func() {
						time.Sleep(test.period + 2*time.Millisecond)
						take(t, other, charge(key, 2, limits...))
					})
				}))
				return !take(t, s, charge(key, 2, limits...)).Allowed
			}
			key, tries := name, 0
			for !refused(key) {
				if tries++; tries == 100 {
					t.Fatal("no call out of 100 met a full window")
				}
				key = fmt.Sprint(name, tries)
			}
			if d := take(t, other, charge(key, 0, limits...)); d.ResetAfter > 0 && d.Charge(0).Remaining > 0 {
				t.Errorf("%d of 2 remaining in a full window", d.Charge(0).Remaining)
			}
			if len(limits) > 1 {
				if d := take(t, other, charge(key, 0, limits...)); d.Charge(1).Remaining != 96 {
					t.Errorf("after two calls of 2: %d of 100 remaining", d.Charge(1).Remaining)
				}
			}
		})
	}
}

// TestCrowdAtTheEdge: callers that never pause admit no more than the rate in each
// window.
func TestCrowdAtTheEdge(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.Client())
	const rate, period = 3, 20 * time.Millisecond
	limit := per(rate, period)
	var mu sync.Mutex
	var sent, got []time.Time
	var wg sync.WaitGroup
	end := time.Now().Add(2 * time.Second)
	for i := range 8 {
		wg.Go(func() {
			for time.Now().Before(end) {
				cost := int64(1 + i%2)
				from := time.Now()
				if d, err := s.Take(context.Background(), charge("k", cost, limit)); err == nil && d.Allowed {
					mu.Lock()
					for range cost {
						sent, got = append(sent, from), append(got, time.Now())
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	// Units certainly admitted within less than a period belong to two windows at most.
	slices.SortFunc(sent, time.Time.Compare)
	slices.SortFunc(got, time.Time.Compare)
	for i := range sent {
		n, _ := slices.BinarySearchFunc(got, sent[i].Add(period), time.Time.Compare)
		if n-i > 2*rate {
			t.Errorf("%d units within a period, want at most %d", n-i, 2*rate)
		}
	}
	if most := rate * int(2*time.Second/period+2); len(sent) > most || len(sent) < most/4 {
		t.Errorf("%d units in 2 s, want at most %d", len(sent), most)
	}
	t.Logf("%d units", len(sent))
}

// TestNoErrorReplies: ordinary calls cause no error replies, from the first call on.
func TestNoErrorReplies(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.Client(func(o *redis.Options) {
		// These replies are errors on older servers, but not of the store.
		o.DisableIdentity = true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	}))
	errorReplies := func() string { return server.Info("stats")["total_error_replies"] }
	before := errorReplies()
	short, long := per(2, 50*time.Millisecond), per(3, time.Hour)
	for range 50 {
		take(t, s, charge("k", 1, short, long))
		take(t, s, charge("single", 2, short))
		take(t, s, charge("k", 0, short, long))
		take(t, s, charge("k", 9, short, long))
		time.Sleep(2 * time.Millisecond)
	}
	if err := s.Reset(context.Background(), "", "k"); err != nil {
		t.Fatal(err)
	}
	if after := errorReplies(); after != before {
		t.Errorf("%s error replies, before that %s: %v", after, before, server.Info("errorstats"))
	}
}

// TestCommands: an allowed call takes one round trip, a refused one two.
func TestCommands(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.Client())
	one, hundred := per(1, time.Minute), per(100, time.Hour)
	take(t, s, charge("warm", 1, one))
	take(t, s, charge("warm", 1, one))
	steps := []struct {
		name string
		req  store.Request
		want map[string]int
	}{
		{"allowed", charge("k", 1, one, hundred), map[string]int{"multi": 1, "exec": 1, "set": 2, "incrby": 2, "pttl": 2}},
		{"refused", charge("k", 1, one, hundred), map[string]int{"multi": 2, "exec": 2, "set": 4, "incrby": 4, "pttl": 4}},
		{"a look", charge("k", 0, one, hundred), map[string]int{"get": 2, "pttl": 2}},
		{"never fits", charge("k", 2, one, hundred), map[string]int{"get": 2, "pttl": 2}},
	}
	for _, step := range steps {
		if got := server.CommandsDuring(func() { take(t, s, step.req) }); !maps.Equal(got, step.want) {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
	}
}

// TestNeverSentTwice: go-redis does not repeat a call whose reply is lost.
func TestNeverSentTwice(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	direct := newStore(t, server.Client())
	for name, cut := range map[string]int{"no reply": 0, "half of a reply": 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := redistest.NewProxy(t, server.Addr)
			c := redis.NewClient(&redis.Options{Addr: proxy.Addr, MaxRetries: 5})
			t.Cleanup(func() { _ = c.Close() })
			s := newStore(t, c)
			limit, key := per(100, time.Hour), strings.ReplaceAll(name, " ", "-")
			take(t, s, charge(key, 1, limit))
			proxy.Set(redistest.CutMidReply(cut))
			if d, err := s.Take(context.Background(), charge(key, 1, limit)); err == nil {
				t.Fatalf("decided: %+v", d)
			}
			if d := take(t, direct, charge(key, 0, limit)); d.Remaining != 98 {
				t.Errorf("%d of 100 remaining after two calls", d.Remaining)
			}
		})
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t).Client()
	s := newStore(t, c)
	two, nine := per(2, time.Hour), per(9, time.Hour)
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		for i := range 4 {
			if d := take(t, s, charge(key, 1, two, nine)); d.Allowed != (i < 2) {
				t.Errorf("%s, call %d: %+v", key, i, d)
			}
		}
		if err := s.Reset(t.Context(), "", key); err != nil {
			t.Error(err)
		}
	}
}
