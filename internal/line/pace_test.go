package line_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// TestPace: a call leaves after an answer that took 2 s. The calls after it keep to the
// limit.
func TestPace(t *testing.T) {
	t.Parallel()
	second := func(seconds ...float64) (all []time.Duration) {
		for _, s := range seconds {
			all = append(all, time.Duration(s*64)*time.Second/64)
		}
		return all
	}
	sliding := store.Per(64, 64*time.Second).By(store.SlidingWindow)
	for name, c := range map[string]struct {
		limit store.Limit
		cost  int64
		took  time.Duration
		left  []time.Duration // of five calls, each at the earliest instant
	}{
		"no late answer":                   {store.Per(1, 64*time.Second).By(store.SlidingWindow), 1, 49 * ms, second(0, 0, 0, 0, 0)},
		"spaced":                           {store.Limit{Rate: 1, Period: time.Second, Burst: 1}, 1, time.Minute, second(0, 63./64, 126./64, 189./64, 252./64)},
		"a bucket":                         {store.Limit{Rate: 1, Period: time.Second, Burst: 3}, 1, time.Minute, second(0, 0, 0, 63./64, 126./64)},
		"a cost":                           {store.Limit{Rate: 1, Period: time.Second, Burst: 6}, 2, time.Minute, second(0, 0, 0, 126./64, 252./64)},
		"a window":                         {sliding, 32, time.Hour, second(0, 0, 63, 63, 126)},
		"a window with a beginning, twice": {store.Per(64, 64*time.Second).By(store.FixedWindow), 64, time.Hour, second(0, 0, 63, 63, 126)},
		"at most twice as late": {
			store.Per(1, time.Hour).By(store.SlidingWindow), 1, 2 * time.Second, second(0, 4, 8-4./64, 12-12./64, 16-24./64),
		},
		"no cost": {store.Per(1, time.Hour).By(store.SlidingWindow), 0, time.Minute, second(0, 0, 0, 0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(0, true)
				var left []time.Duration
				for i := range 5 {
					call, _ := b.Enter(line.ID{Key: "k", Cost: c.cost}, time.Time{})
					if i == 0 {
						call.Took = c.took
					}
					limits := []store.Limit{c.limit}
					if !call.Goes(limits, time.Now()) {
						if _, again, err := call.Wait(t.Context(), b.lateSlot(call.Took, 0, nil, limits...), time.Time{}); again || err != nil {
							t.Fatal(again, err)
						}
					}
					call.Exit()
					left = append(left, time.Since(b.start).Truncate(time.Second/64))
				}
				if !slices.Equal(left, c.left) {
					t.Errorf("calls left after %v, want %v", left, c.left)
				}
				time.Sleep(2 * time.Second)
			})
		})
	}
}

// pass sends a call through its line at the key's pace, and returns how long it waited.
func (b *bench) pass(t *testing.T, key string, cost int64, took time.Duration, limit store.Limit) time.Duration {
	t.Helper()
	start := time.Now()
	call, _ := b.Enter(line.ID{Key: key, Cost: cost}, time.Time{})
	defer call.Exit()
	call.Took = took
	if !call.Goes([]store.Limit{limit}, time.Now()) {
		if _, again, err := call.Wait(t.Context(), b.lateSlot(took, 0, nil, limit), time.Time{}); again || err != nil {
			t.Fatal(again, err)
		}
	}
	return time.Since(start)
}

// TestPaceOutlivesOtherKeys: a late key keeps its pace, however many keys come and go.
func TestPaceOutlivesOtherKeys(t *testing.T) {
	t.Parallel()
	limit := store.Limit{Rate: 1, Period: time.Minute, Burst: 1}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, true)
		b.pass(t, "late", 1, time.Hour, limit)
		for i := range 10_000 {
			b.pass(t, fmt.Sprint(i), 1, 0, limit)
			time.Sleep(5 * time.Second)
		}
		b.pass(t, "late", 1, 0, limit)
		if held := b.pass(t, "late", 1, 0, limit); held < 50*time.Second {
			t.Errorf("held up for %v", held)
		}
		time.Sleep(2 * time.Second)
	})
}

// TestPaceOfRealCosts: calls that have left count at their real cost.
func TestPaceOfRealCosts(t *testing.T) {
	t.Parallel()
	limit := store.Per(10, time.Hour).By(store.SlidingWindow)
	for name, c := range map[string]struct {
		correct func(b *bench)
		held    bool
	}{
		"as estimated":   {func(*bench) {}, true},
		"settled":        {func(b *bench) { b.Correct("k", -9) }, false},
		"another key's":  {func(b *bench) { b.Correct("other", -9) }, true},
		"given back":     {func(b *bench) { b.HandBack(context.Background(), line.ID{Key: "k", Cost: 10}, nil) }, false},
		"back and forth": {func(b *bench) { b.Correct("k", -9); b.Correct("k", 9) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(0, true)
				b.pass(t, "k", 10, time.Minute, limit)
				c.correct(b)
				if held := b.pass(t, "k", 9, 0, limit) > 0; held != c.held {
					t.Errorf("the next call was held up: %v, want %v", held, c.held)
				}
				time.Sleep(2 * time.Second)
			})
		})
	}
}

// TestPaceIsBounded: any number of calls and keys takes bounded memory.
func TestPaceIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, limit := newBench(0, true), store.Per(1, time.Hour)
		for i := range 4000 {
			b.pass(t, "busy", 1, 0, limit)
			b.pass(t, fmt.Sprint(i), 1, 0, limit)
			time.Sleep(ms)
		}
		if keys, calls := b.Paces(); keys > 32*64 || calls > keys+255 {
			t.Errorf("%d calls of %d keys are remembered", calls, keys)
		}
	})
}

// TestPaceOfADeadline: a call's slot comes in time, but at the key's pace the call would
// leave too late. It fails, and its slot goes back.
func TestPaceOfADeadline(t *testing.T) {
	t.Parallel()
	limit := store.Limit{Rate: 1, Period: 64 * time.Second, Burst: 1}
	for name, c := range map[string]struct {
		bound   time.Duration // of the second call
		timeout time.Duration // of its context
		slot    time.Duration
		left    time.Duration
		err     error
		excess  time.Duration
	}{
		"none":                        {left: 63 * time.Second},
		"in time":                     {bound: 63 * time.Second, left: 63 * time.Second},
		"too late":                    {bound: 62 * time.Second, err: line.ErrLate, excess: 63 * time.Second},
		"too late, later":             {bound: 62 * time.Second, slot: 10 * time.Second, left: 10 * time.Second, err: line.ErrLate, excess: 53 * time.Second},
		"its slot is late, too":       {bound: time.Second, slot: 2 * time.Second, left: 63 * time.Second},
		"its context ends, unbounded": {timeout: 30 * time.Second, left: 30 * time.Second, err: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(1, true)
				b.pass(t, "k", 1, time.Hour, limit)
				b.start = time.Now()
				call, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
				var bound time.Time
				if c.bound > 0 {
					bound = b.start.Add(c.bound)
				}
				ctx := t.Context()
				if c.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.timeout)
					defer cancel()
				}
				_, again, err := call.Wait(ctx, b.slot(c.slot, "slot", limit), bound)
				if left := time.Since(b.start); again || err != c.err || left != c.left || call.Excess != c.excess {
					t.Errorf("%v, %v after %v, excess %v", again, err, left, call.Excess)
				}
				call.Linger()
				call.Exit()
				back := []any(nil)
				if err != nil {
					back = []any{"slot"}
				}
				synctest.Wait()
				b.want(t, nil, back)
				time.Sleep(2 * time.Second)
			})
		})
	}
}

// slowClock is a clock that keeps its line busy for as long as a halt of the process.
type slowClock struct {
	*exact.Move
	*sync.Once
}

func (c slowClock) Set() store.Instant {
	c.Do(func() { time.Sleep(500 * ms) })
	return c.Move.Set()
}

// TestPaceAfterAHalt: after a halt of the process, here by a held lock, no herd of calls
// leaves.
func TestPaceAfterAHalt(t *testing.T) {
	t.Parallel()
	const interval = 40 * ms
	limit := store.Limit{Rate: 1, Period: interval, Burst: 1}
	b := newBench(0, true)
	b.watch(t)
	var mu sync.Mutex
	var left []time.Time
	var wg sync.WaitGroup
	for i := range 10 {
		call, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
		s := b.slot(100*ms+time.Duration(i)*interval, nil, limit)
		wg.Go(func() {
			if _, again, err := call.Wait(t.Context(), s, time.Time{}); again || err != nil {
				t.Error(again, err)
			}
			mu.Lock()
			defer mu.Unlock()
			left = append(left, time.Now())
		})
	}
	time.Sleep(50 * ms)
	b.tell("k", slowClock{&exact.Move{Clock: exact.Clock{At: 1, V: 1}}, new(sync.Once)})
	wg.Wait()
	if took := left[9].Sub(left[0]); took < 6*interval {
		t.Errorf("ten calls left within %v, want at least %v", took, 6*interval)
	}
}

// TestCostsKeepTheirOrder: calls of a key with different costs, which the pace holds up,
// leave in the order of their slots.
func TestCostsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after time.Duration // when the call of one unit comes
		left  []string
	}{
		"it waits":                  {time.Second, []string{"two units at 12.6s", "one unit at 18.9s"}},
		"it comes when one is free": {10 * time.Second, []string{"two units at 12.6s", "one unit at 18.9s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, limit := newBench(0, true), store.Limit{Rate: 2, Period: 12800 * ms, Burst: 2}
				b.pass(t, "k", 2, time.Hour, limit) // 6.4 s a unit, 6.3 s to catch up
				var wg sync.WaitGroup
				wait := func(name string, cost int64, after time.Duration) {
					wg.Go(func() {
						time.Sleep(after)
						b.pass(t, "k", cost, 0, limit)
						b.went(name)
					})
				}
				wait("two units", 2, ms)
				wait("one unit", 1, c.after)
				wg.Wait()
				b.want(t, c.left, nil)
				time.Sleep(2 * time.Second)
			})
		})
	}
}

// TestSlotsComeBySomeAnswers: answers take different times on their way. The slots of a
// line keep their granted distances, and the quickest answer gives their time.
func TestSlotsComeBySomeAnswers(t *testing.T) {
	t.Parallel()
	type answer struct{ granted, took, onItsWay time.Duration } // the slot after the start, by the store's clock
	for name, c := range map[string]struct {
		answers []answer
		left    []time.Duration
	}{
		"the last is quick":         {[]answer{{200 * ms, 100 * ms, 100 * ms}, {220 * ms, 90 * ms, 90 * ms}, {240 * ms, 0, 0}}, []time.Duration{200 * ms, 220 * ms, 240 * ms}},
		"the first slot's is quick": {[]answer{{220 * ms, 100 * ms, 100 * ms}, {240 * ms, 90 * ms, 90 * ms}, {200 * ms, 0, 0}}, []time.Duration{200 * ms, 220 * ms, 240 * ms}},
		"the first is quick":        {[]answer{{200 * ms, 0, 0}, {220 * ms, 100 * ms, 100 * ms}, {240 * ms, 90 * ms, 90 * ms}}, []time.Duration{200 * ms, 220 * ms, 240 * ms}},
		"none is":                   {[]answer{{200 * ms, 100 * ms, 100 * ms}, {220 * ms, 90 * ms, 90 * ms}}, []time.Duration{290 * ms, 310 * ms}},
		"no longer than it took":    {[]answer{{200 * ms, 0, 0}, {220 * ms, 10 * ms, 100 * ms}}, []time.Duration{200 * ms, 310 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(0, true)
				var mu sync.Mutex
				var wg sync.WaitGroup
				var left []time.Duration
				for _, a := range c.answers {
					call, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
					at := micros(b.start) - store.Instant(a.onItsWay.Microseconds())
					d := store.Decision{Delay: a.granted + a.onItsWay, At: at, Slot: at + store.Instant((a.granted + a.onItsWay).Microseconds())}
					s := line.Granted(&d, nil, b.start.Add(-a.took), b.start)
					wg.Go(func() {
						if _, again, err := call.Wait(t.Context(), s, time.Time{}); again || err != nil {
							t.Error(again, err)
						}
						mu.Lock()
						defer mu.Unlock()
						left = append(left, time.Since(b.start))
					})
					synctest.Wait()
				}
				wg.Wait()
				if !slices.Equal(left, c.left) {
					t.Errorf("calls left after %v, want %v", left, c.left)
				}
				time.Sleep(2 * time.Second)
			})
		})
	}
}
