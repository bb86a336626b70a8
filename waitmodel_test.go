package weir_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// modelCall is one waiting call of a random run, and how it ended.
type modelCall struct {
	id       int // by arrival
	key      string
	cost     int64
	start    time.Duration
	cancel   time.Duration // after start; 0: never
	deadline time.Duration // after start; 0: none
	maxWait  time.Duration // 0: none

	ended time.Time
	err   error
	slot  *grant // nil when the store granted none
}

func (c *modelCall) bounded() bool { return c.deadline > 0 || c.maxWait > 0 }

const (
	modelTrip = 30 * ms // the longest way to the store, and back
	modelSpan = time.Second
)

func randomCalls(r *rand.Rand) []*modelCall {
	calls := make([]*modelCall, 20+r.IntN(100))
	for i := range calls {
		c := &modelCall{
			key:   []string{"a", "b", "c"}[r.IntN(3)],
			cost:  1 + r.Int64N(2),
			start: time.Duration(r.Int64N(int64(modelSpan))),
		}
		if r.IntN(3) == 0 {
			c.cancel = time.Duration(1 + r.Int64N(int64(modelSpan)))
		}
		if r.IntN(4) == 0 {
			c.deadline = 2*modelTrip + 1 + time.Duration(r.Int64N(int64(modelSpan)))
		}
		if r.IntN(4) == 0 {
			c.maxWait = time.Duration(1 + r.Int64N(int64(modelSpan)))
		}
		calls[i] = c
	}
	slices.SortFunc(calls, func(a, b *modelCall) int { return cmp.Compare(a.start, b.start) })
	for i, c := range calls {
		c.id = i
	}
	return calls
}

func (c *modelCall) run(ctx context.Context, l *weir.Limiter) {
	time.Sleep(c.start)
	ctx = context.WithValue(ctx, callID{}, c.id)
	if c.deadline > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, c.deadline)
		defer stop()
	}
	if c.cancel > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		defer time.AfterFunc(c.cancel, stop).Stop()
	}
	c.err = l.WaitMax(ctx, c.key, c.cost, c.maxWait)
	c.ended = time.Now()
}

// TestWaitModel runs random calls over a store with random latencies, and checks slots
// and order.
func TestWaitModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runModel(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func runModel(t *testing.T, r *rand.Rand) {
	var mu sync.Mutex
	way := func(int) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(r.Int64N(int64(modelTrip)))
	}
	calls := randomCalls(r)
	s := &gcraStore{before: way, after: way, cancel: func(call int) error {
		time.Sleep(way(call))
		return nil
	}}
	l := newLimiter(t, s, func(c *weir.Config) {
		c.Limits = []weir.Limit{weir.PerSecond(50).WithBurst(5)}
		c.MaxWaiters = len(calls)
	})
	var wg sync.WaitGroup
	start := time.Now()
	for _, c := range calls {
		wg.Go(func() { c.run(t.Context(), l) })
	}
	wg.Wait()
	time.Sleep(time.Minute) // for slow give-backs
	admitted := 0
	for _, c := range calls {
		if c.err == nil {
			admitted++
		}
	}
	if s.takes > len(calls) {
		t.Errorf("%d calls asked the store %d times", len(calls), s.takes)
	}
	s.check(t, l, s.takes, admitted)
	if s.most > 6 {
		t.Errorf("%d slots were given back at once, want one for each of six queues", s.most)
	}
	for _, g := range s.grants {
		calls[g.id.(int)].slot = g
	}
	for _, c := range calls {
		checkCall(t, c, start)
	}
	checkSlots(t, s, calls)
	checkOrder(t, calls, start)
}

// checkCall checks how one call ended.
func checkCall(t *testing.T, c *modelCall, start time.Time) {
	called := start.Add(c.start)
	switch {
	case c.err == nil:
		if c.deadline > 0 && c.ended.After(called.Add(c.deadline)) {
			t.Errorf("call %d went after its deadline", c.id)
		}
		// The store kept to MaxWait from the decision on. A swap must not add to that.
		if c.maxWait > 0 && c.ended.After(called.Add(c.maxWait+2*modelTrip)) {
			t.Errorf("call %d went after its longest wait", c.id)
		}
	case errors.Is(c.err, weir.ErrLimited):
		// A call is refused after a wait only if late answers make it leave too late.
		var limited *weir.LimitedError
		late := errors.As(c.err, &limited) && limited.RetryAfter <= 2*modelTrip
		if c.ended.After(called.Add(2*modelTrip+20*ms)) && !late {
			t.Errorf("call %d was refused after it had waited", c.id)
		}
	case c.err == context.Canceled:
		if c.cancel == 0 || c.ended.After(called.Add(c.cancel+modelTrip+20*ms)) {
			t.Errorf("call %d ended %v after it came with %v", c.id, c.ended.Sub(called), c.err)
		}
	default:
		// No deadline is over before the reply is in, and then it is known
		// whether the slot is past it.
		t.Errorf("call %d ended with %v", c.id, c.err)
	}
}

// checkSlots checks that each call that left has a slot of its own, which had come.
func checkSlots(t *testing.T, s *gcraStore, calls []*modelCall) {
	type queue struct {
		key  string
		cost int64
	}
	slots, went := map[queue][]time.Time{}, map[queue][]time.Time{}
	for _, g := range s.kept() {
		q := queue{g.key, g.cost}
		slots[q] = append(slots[q], g.at)
	}
	for _, c := range calls {
		if c.err == nil {
			q := queue{c.key, c.cost}
			went[q] = append(went[q], c.ended)
		}
	}
	for q, at := range went {
		if len(slots[q]) != len(at) {
			t.Errorf("%v: %d calls went in %d slots", q, len(at), len(slots[q]))
			continue
		}
		slices.SortFunc(at, time.Time.Compare)
		slices.SortFunc(slots[q], time.Time.Compare)
		for i := range at {
			if at[i].Before(slots[q][i]) {
				t.Errorf("%v: call %d went %v before its slot", q, i, slots[q][i].Sub(at[i]))
			}
		}
	}
}

// checkOrder checks that no call without a bound left before an earlier call that still
// waited and whose slot was known. A slot that a call took over was known as it came.
func checkOrder(t *testing.T, calls []*modelCall, start time.Time) {
	for j, later := range calls {
		if later.err != nil || later.bounded() {
			continue
		}
		for _, c := range calls[:j] {
			known := start.Add(c.start)
			if c.slot != nil {
				known = c.slot.reply
			}
			if c.key == later.key && c.cost == later.cost && c.err == nil &&
				known.Before(later.ended) && c.ended.After(later.ended) {
				t.Errorf("call %d went before call %d", later.id, c.id)
			}
		}
	}
}
