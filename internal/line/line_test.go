package line_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

const ms = time.Millisecond

// bench is lines over a store that only records its calls.
type bench struct {
	*line.Lines
	start time.Time
	mu    sync.Mutex
	back  []any                           // receipts, in the order in which they came back
	gone  []string                        // names of calls, in the order in which they went
	tell  func(key string, c store.Clock) // the watch's
	clock func() (store.Clock, error)     // the answer to a look; nil: no clock
	looks int
	slow  time.Duration // of a give-back
}

func newBench(max int, hears bool) *bench {
	b := &bench{start: time.Now()}
	b.Lines = line.New(line.Config{
		Max: max,
		Cancel: func(_ context.Context, _ line.ID, receipt any) error {
			time.Sleep(b.slow)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.back = append(b.back, receipt)
			return nil
		},
		Watch: func(f func(string, store.Clock)) store.Watch {
			b.tell = f
			return watch(hears)
		},
		Clock: func(context.Context, line.ID) (store.Clock, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.looks++; b.clock == nil {
				return nil, nil
			}
			return b.clock()
		},
	})
	return b
}

// watch has missed everything, or nothing.
type watch bool

func (w watch) Covers(time.Time) bool { return bool(w) }
func (watch) Stop()                   {}

func micros(t time.Time) store.Instant { return store.Instant(t.UnixMicro()) }

// slot returns the slot that comes after some time, granted now.
func (b *bench) slot(after time.Duration, receipt any, limits ...store.Limit) *line.Slot {
	return b.lateSlot(0, after, receipt, limits...)
}

// lateSlot returns a slot whose answer took some time.
func (b *bench) lateSlot(took, after time.Duration, receipt any, limits ...store.Limit) *line.Slot {
	now := micros(time.Now())
	d := store.Decision{Delay: after, At: now, Slot: now + store.Instant(after.Microseconds()), Receipt: receipt}
	return line.Granted(&d, limits, time.Now().Add(-took), time.Now())
}

// went notes that a call has left.
func (b *bench) went(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = append(b.gone, fmt.Sprint(name, " at ", time.Since(b.start)))
}

func (b *bench) want(t *testing.T, gone []string, back []any) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.gone, gone) || !slices.Equal(b.back, back) {
		t.Errorf("%q went and %v came back, want %q and %v", b.gone, b.back, gone, back)
	}
	if lines, calls := b.Count(); lines != 0 || calls != 0 {
		t.Errorf("%d lines and %d calls are left", lines, calls)
	}
}

// waiting is a call with its slot.
type waiting struct {
	name  string
	after time.Duration
	bound time.Duration // 0: none
	leave time.Duration // when its context ends; 0: never
}

func TestLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		calls []waiting // in the order of arrival
		gone  []string
		back  []any
	}{
		{
			"slots in the order of arrival",
			[]waiting{{"a", 10 * ms, 0, 0}, {"b", 20 * ms, 0, 0}},
			[]string{"a at 10ms", "b at 20ms"}, nil,
		},
		{
			"the first call takes the first slot, whichever was granted to it",
			[]waiting{{"a", 20 * ms, 0, 0}, {"b", 10 * ms, 0, 0}},
			[]string{"a at 10ms", "b at 20ms"}, nil,
		},
		{
			"a call that can't wait for the other slot keeps its own",
			[]waiting{{"a", 20 * ms, 0, 0}, {"b", 10 * ms, 15 * ms, 0}},
			[]string{"b at 10ms", "a at 20ms"}, nil,
		},
		{
			"the calls behind a leaver move up, and the last slot goes back",
			[]waiting{{"a", 10 * ms, 0, 5 * ms}, {"b", 20 * ms, 0, 0}, {"c", 30 * ms, 0, 0}},
			[]string{"b at 10ms", "c at 20ms"}, []any{"c"},
		},
		{
			"a context that ends at the slot is too late",
			[]waiting{{"a", 10 * ms, 0, 10 * ms}},
			[]string{"a at 10ms"}, nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(0, false)
				var wg sync.WaitGroup
				for _, w := range tt.calls {
					call, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
					wg.Go(func() {
						defer call.Exit()
						ctx := t.Context()
						if w.leave > 0 {
							var cancel context.CancelFunc
							ctx, cancel = context.WithTimeout(ctx, w.leave)
							defer cancel()
						}
						var bound time.Time
						if w.bound > 0 {
							bound = b.start.Add(w.bound)
						}
						switch _, again, err := call.Wait(ctx, b.slot(w.after, w.name), bound); {
						case again:
							t.Error(w.name, "is to book again")
						case err == nil:
							b.went(w.name)
						default:
							call.Linger()
						}
					})
				}
				wg.Wait()
				b.want(t, tt.gone, tt.back)
				time.Sleep(2 * time.Second) // The watch ends.
			})
		})
	}
}

// TestSurrender gives up a slot: the calls in line move up.
func TestSurrender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, false)
		id := line.ID{Key: "k", Cost: 1}
		call, _ := b.Enter(id, time.Time{})
		early := b.slot(10*ms, "early")
		done := make(chan struct{})
		go func() {
			defer close(done)
			if used, again, err := call.Wait(t.Context(), b.slot(20*ms, "late"), time.Time{}); used.Receipt != "early" || again || err != nil {
				t.Errorf("went in %v, %v, %v", used, again, err)
			}
			b.went("a")
		}()
		synctest.Wait()
		<-b.Surrender(t.Context(), id, early)
		<-done
		if back := b.HandBack(t.Context(), id, nil); back != nil {
			t.Error("a slot without a receipt was given back")
		}
		<-b.HandBack(t.Context(), id, "handed")
		b.want(t, []string{"a at 10ms"}, []any{"late", "handed"})
		time.Sleep(2 * time.Second)
	})
}

// TestBackground: background calls take turns, and share the refusal of the first call.
func TestBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines line.Background
		first, second := lines.Enter("k"), lines.Enter("k")
		waiting := 0
		waits := func() { waiting++ }
		if err := first.Take(t.Context(), time.Now(), waits); err != nil || waiting != 0 {
			t.Fatalf("the first call: %v, it waits: %d", err, waiting)
		}
		if d := second.Refusal(); d.Reason != store.ReasonAllowed {
			t.Errorf("%v before the first refusal", d.Reason)
		}
		first.Refused(&store.Decision{Reason: store.ReasonLimited, RetryAfter: 30 * ms})
		if err := second.Take(t.Context(), time.Now().Add(10*ms), waits); !errors.Is(err, context.DeadlineExceeded) || waiting != 1 {
			t.Errorf("the second call: %v, it waits: %d", err, waiting)
		}
		if d := second.Refusal(); d.Reason != store.ReasonLimited || d.RetryAfter != 20*ms {
			t.Errorf("%v, retry after %v", d.Reason, d.RetryAfter)
		}
		go func() {
			time.Sleep(ms)
			first.Pass()
			first.Exit()
		}()
		if err := second.Take(t.Context(), time.Time{}, waits); err != nil {
			t.Error(err)
		}
		second.Exit()
		if third := lines.Enter("k"); third.Refusal().Reason != store.ReasonAllowed {
			t.Error("the line of a key without calls is kept")
		}
	})
}
