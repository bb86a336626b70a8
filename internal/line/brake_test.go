package line_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// clock is a key's clock after a pause from now on, with the first slot ahead.
func clock(pause, first time.Duration) *exact.Move {
	now := micros(time.Now())
	var before exact.Clock
	ahead := int64(now) + first.Microseconds()
	after, _ := before.Apply(&store.Brake{Pause: pause}, 1, ahead, int64(now))
	return &exact.Move{Clock: after, Before: before, First: ahead}
}

// uncounted is a clock after which windows no longer count any booking.
type uncounted struct{ *exact.Move }

func (uncounted) Counts(any) bool { return false }

// watch makes the lines' watch begin.
func (b *bench) watch(t *testing.T) {
	call, _ := b.Enter(line.ID{Key: "first", Cost: 1}, time.Time{})
	if _, again, err := call.Wait(t.Context(), b.slot(0, nil), time.Time{}); again || err != nil {
		t.Fatal(again, err)
	}
	time.Sleep(ms)
	b.start = time.Now()
}

// TestBrake brakes a key with calls in line: three, whose slots come after 1, 2 and
// 3 s. The brake is set after 0.5 s.
func TestBrake(t *testing.T) {
	t.Parallel()
	const paused = 5 * time.Second // from 0.5 s on
	at := func(seconds ...float64) (gone []string) {
		for i, s := range seconds {
			gone = append(gone, fmt.Sprint(i, " at ", time.Duration(s*float64(time.Second))))
		}
		return gone
	}
	for _, tt := range []struct {
		name   string
		missed bool // the message; then looks find the brake
		clock  func() store.Clock
		window bool          // of all slots
		bound  time.Duration // of all calls; 0: none
		gone   []string
		back   []any // given back
		again  int   // calls that book again
		looks  int
	}{
		{name: "no brake", gone: at(1, 2, 3)},
		{name: "by the message", clock: func() store.Clock { return clock(paused, 500*ms) }, gone: at(5.5, 6.5, 7.5)},
		{name: "by the message, in a window", clock: func() store.Clock { return clock(paused, 500*ms) }, window: true, gone: at(5.5, 6.5, 7.5)},
		{name: "out of the window", clock: func() store.Clock { return uncounted{clock(paused, 500*ms)} }, again: 3, back: []any{2, 1, 0}},
		{name: "beyond the bound", clock: func() store.Clock { return clock(paused, 500*ms) }, bound: 6500 * ms, gone: at(5.5, 6.5), again: 1, back: []any{2}},
		{name: "far beyond the bound", clock: func() store.Clock { return clock(paused, 500*ms) }, bound: 4 * time.Second, again: 3, back: []any{2, 1, 0}},
		{name: "missed", missed: true, clock: func() store.Clock { return clock(paused, 500*ms) }, gone: at(5.5, 6.5, 7.5), looks: 4},
		{name: "missed, in a window", missed: true, window: true, clock: func() store.Clock { return clock(paused, 500*ms) }, again: 3, back: []any{2, 1, 0}, looks: 1},
		{name: "missed, beyond the bound", missed: true, clock: func() store.Clock { return clock(paused, 500*ms) }, bound: 6 * time.Second, gone: at(5.5), again: 2, back: []any{2, 1}, looks: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(3, !tt.missed)
				b.watch(t)
				var wg sync.WaitGroup
				again := 0
				for i := range 3 {
					wg.Go(func() {
						call, ok := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
						if !ok {
							t.Error("too many calls")
						}
						defer call.Exit()
						var bound time.Time
						if tt.bound > 0 {
							bound = b.start.Add(tt.bound)
						}
						limit := store.Per(1, time.Second)
						if tt.window {
							limit.Algorithm = store.FixedWindow
						}
						s := b.slot(time.Duration(i+1)*time.Second, i, limit)
						switch _, lost, err := call.Wait(t.Context(), s, bound); {
						case err != nil:
							t.Error(err)
						case lost:
							if _, calls := b.Count(); calls != 3 {
								t.Errorf("%d calls count, want 3: a call that books again keeps its place", calls)
							}
							b.mu.Lock()
							again++
							b.mu.Unlock()
							time.Sleep(30 * ms)
						default:
							b.went(fmt.Sprint(i))
						}
					})
					synctest.Wait()
				}
				time.Sleep(500 * ms)
				if tt.clock != nil {
					c := tt.clock()
					if b.mu.Lock(); tt.missed {
						b.clock = func() (store.Clock, error) { return c, nil }
					}
					b.mu.Unlock()
					if !tt.missed {
						b.tell("another key", c)
						b.tell("k", c)
						b.tell("k", c)                                            // Messages may come twice,
						b.tell("k", &exact.Move{Clock: exact.Clock{At: 1, V: 1}}) // and late.
					}
				}
				wg.Wait()
				b.want(t, tt.gone, tt.back)
				if again != tt.again || b.looks != tt.looks {
					t.Errorf("%d calls book again after %d looks, want %d after %d", again, b.looks, tt.again, tt.looks)
				}
				time.Sleep(2 * time.Second)
			})
		})
	}
}

// TestLateResume: calls hear 25 s late that a pause has ended, or find that by a look when the
// pause was to end. Their slots have come meanwhile. They leave at the distances of their limit.
func TestLateResume(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		missed bool
		gone   []string
	}{
		"by a late message": {false, []string{"0 at 30s", "1 at 30.984375s", "2 at 31.96875s"}},
		"by a look":         {true, []string{"0 at 1m0.5s", "1 at 1m1.484375s", "2 at 1m2.46875s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(0, !tt.missed)
				b.watch(t)
				var wg sync.WaitGroup
				for i := range 3 {
					wg.Go(func() {
						call, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
						defer call.Exit()
						s := b.slot(time.Duration(i+1)*time.Second, i, store.Per(1, time.Second).WithBurst(1))
						if _, again, err := call.Wait(t.Context(), s, time.Time{}); again || err != nil {
							t.Error(again, err)
						}
						b.went(fmt.Sprint(i))
					})
					synctest.Wait()
				}
				time.Sleep(500 * ms)
				paused := clock(time.Minute, 500*ms)
				resumed := paused.Clock
				resumed.At, resumed.V, resumed.Until = resumed.At+4_500_000, paused.First, 0
				b.mu.Lock()
				b.clock = func() (store.Clock, error) {
					if time.Since(b.start) < 5*time.Second {
						return paused, nil
					}
					return &exact.Move{Clock: resumed, Before: paused.Clock, First: paused.First}, nil
				}
				b.mu.Unlock()
				if !tt.missed {
					b.tell("k", paused)
					time.Sleep(30*time.Second - time.Since(b.start))
					c, _ := b.clock()
					b.tell("k", c)
				}
				wg.Wait()
				b.want(t, tt.gone, nil)
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// TestLostSlotsAreNotTakenOver: a brake moves the slots of three calls out of their windows. While
// these slots are on their way back, no call takes one over, whatever a further brake says.
func TestLostSlotsAreNotTakenOver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		leaves  bool // the calls leave before the brake
		further bool // another brake follows
	}{
		"of calls that book again": {false, false}, "… and another brake": {false, true},
		"of calls that left before": {true, false}, "of calls that left before, and another brake": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(0, true)
				b.slow = 10 * time.Second
				b.watch(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var wg sync.WaitGroup
				for i := range 3 {
					wg.Go(func() {
						call, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
						defer call.Exit()
						s := b.slot(time.Duration(i+1)*time.Second, i, store.Per(1, time.Second).By(store.AlignedWindow))
						if _, again, err := call.Wait(ctx, s, time.Time{}); !again && err == nil {
							t.Error("a call went")
						}
						time.Sleep(100*ms - time.Since(b.start))
						if s := call.Retake(b.start.Add(time.Hour)); s != nil {
							t.Errorf("the call takes over the slot of call %v", s.Receipt)
						}
					})
				}
				synctest.Wait()
				if time.Sleep(ms); tt.leaves {
					cancel()
					synctest.Wait()
				}
				b.tell("k", uncounted{clock(5*time.Second, 500*ms)})
				if time.Sleep(ms); tt.further {
					b.tell("k", clock(8*time.Second, 500*ms))
				}
				wg.Wait()
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestBrakeBeforeTheReply: the message of a brake overtakes the store's answer to an
// earlier call.
func TestBrakeBeforeTheReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, true)
		b.watch(t)
		call, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
		before := b.slot(500*ms, "before")
		time.Sleep(ms)
		b.tell("k", clock(5*time.Second, 499*ms))
		if _, again, err := call.Wait(t.Context(), before, time.Time{}); again || err != nil {
			t.Error(again, err)
		}
		b.went("before")
		after, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
		if _, again, err := after.Wait(t.Context(), b.slot(500*ms, "after"), time.Time{}); again || err != nil {
			t.Error(again, err)
		}
		b.went("after")
		b.want(t, []string{"before at 5.001s", "after at 5.501s"}, nil)
		time.Sleep(2 * time.Second)
	})
}

// TestBrakeOfThousands: waiting calls cost no look at the key. If the watch missed the
// message of a brake, they cost one look together.
func TestBrakeOfThousands(t *testing.T) {
	t.Parallel()
	for _, hears := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(0, hears)
			b.watch(t)
			var wg sync.WaitGroup
			for i := range 1000 {
				call, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
				wg.Go(func() {
					if _, again, err := call.Wait(t.Context(), b.slot(time.Second+time.Duration(i)*10*time.Microsecond, i), time.Time{}); again || err != nil {
						t.Error(again, err)
					}
					if want := 5*time.Second + time.Duration(i)*10*time.Microsecond; time.Since(b.start) != want {
						t.Errorf("call %d went after %v, want %v", i, time.Since(b.start), want)
					}
				})
			}
			synctest.Wait()
			c := clock(5*time.Second, time.Second)
			b.mu.Lock()
			b.clock = func() (store.Clock, error) { return c, nil }
			b.mu.Unlock()
			if hears {
				b.tell("k", c)
			}
			wg.Wait()
			// Without a watch, another brake may come before the end of the pause.
			if max := 2; b.looks > max || hears && b.looks > 0 {
				t.Errorf("%d looks at the key", b.looks)
			}
			time.Sleep(2 * time.Second)
		})
	}
}

// TestPauseHoldsLateSlots: three slots have come together, late, and leave one by one. A
// pause of 5 s after 0.5 s holds the rest. They leave after it, at most twice as late (4 s)
// as they were before.
func TestPauseHoldsLateSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3, true)
		b.watch(t)
		limit := store.Limit{Rate: 1, Period: time.Second, Burst: 1}
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				call, _ := b.Enter(line.ID{Key: "k", Cost: 1}, time.Time{})
				defer call.Exit()
				if _, again, err := call.Wait(t.Context(), b.lateSlot(2*time.Second, 0, i, limit), time.Time{}); again || err != nil {
					t.Error(again, err)
				}
				b.went(fmt.Sprint(i))
			})
			synctest.Wait()
		}
		time.Sleep(500 * ms)
		b.tell("k", clock(5*time.Second, 0))
		wg.Wait()
		b.want(t, []string{"0 at 0s", "1 at 5.984375s", "2 at 9s"}, nil)
	})
}
